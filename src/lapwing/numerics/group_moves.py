"""Moves and swaps of records between near groups."""

import numpy as np

from lapwing.numerics.axis_split import axis_blocks

NEAREST = 8
SWEEPS = 100
_BLOCK = 512
_CHUNK = 1 << 18
_GAIN = 1e-9


class _State:
    def __init__(self, x, labels, size):
        self.x, self.size = x, size
        self.labels = labels.copy()
        counts = np.bincount(labels)
        self.counts = counts
        g = counts.size
        self.most = max(2 * size - 1, int(counts.max()))
        order = np.argsort(labels, kind="stable")
        first = np.concatenate(([0], counts.cumsum()[:-1]))
        slot = np.arange(len(x)) - np.repeat(first, counts)
        self.members = np.full((g, self.most), -1, dtype=np.int64)
        self.members[labels[order], slot] = order
        self.rest = np.empty_like(x)
        self.centroids = np.empty((g, x.shape[1]))
        self.refresh(np.arange(g))

    def refresh(self, groups):
        m = self.members[groups]
        ok = m >= 0
        v = self.x[m]
        v[~ok] = 0
        c = v.sum(axis=1) / self.counts[groups][:, None]
        self.centroids[groups] = c
        r = v - c[:, None, :]
        self.rest[m[ok]] = r[ok]


def neighbours(c, share):
    g = len(c)
    out = []
    for block in axis_blocks(c, _BLOCK, share):
        pts = c[block]
        sq = np.einsum("ij,ij->i", pts, pts)
        d = sq[:, None] + sq[None, :] - 2 * pts @ pts.T
        np.fill_diagonal(d, np.inf)
        k = min(NEAREST, len(block) - 1)
        if k == 0:
            continue
        near = np.argpartition(d, k - 1, axis=1)[:, :k] if k < len(block) - 1 else np.argsort(d, axis=1)[:, :k]
        a = np.repeat(block, k)
        b = block[near.ravel()]
        out.append(np.minimum(a, b) * g + np.maximum(a, b))
    if not out:
        return np.empty(0, np.int64), np.empty(0, np.int64)
    key = np.unique(np.concatenate(out))
    return key // g, key % g


def gains(s, a, b):
    """best gain and choice."""
    gain = np.empty(a.size)
    pick = np.empty(a.size, np.int64)
    step = max(1, _CHUNK // (s.most * s.x.shape[1]))
    for i in range(0, a.size, step):
        gain[i : i + step], pick[i : i + step] = _gains(s, a[i : i + step], b[i : i + step])
    return gain, pick


def _gains(s, a, b):
    w = max(s.counts[a].max(), s.counts[b].max())
    ma, mb = s.members[a, :w], s.members[b, :w]
    ra, rb = s.rest[ma], s.rest[mb]
    u = s.centroids[b] - s.centroids[a]
    uu = np.einsum("ij,ij->i", u, u)
    ua = np.einsum("ijk,ik->ij", ra, u)
    ub = np.einsum("ijk,ik->ij", rb, u)
    aa = np.einsum("ijk,ijk->ij", ra, ra)
    bb = np.einsum("ijk,ijk->ij", rb, rb)
    ab = ra @ rb.transpose(0, 2, 1)
    na, nb = s.counts[a][:, None], s.counts[b][:, None]
    udelta = uu[:, None, None] + ub[:, None, :] - ua[:, :, None]
    dd = (aa - ua)[:, :, None] + (bb + ub)[:, None, :] + udelta - 2 * ab
    sc = (1 / na + 1 / nb)[:, :, None]
    n = len(a)
    out = np.full((n, w + 1, w + 1), -np.inf)
    out[:, :w, :w] = sc * dd - 2 * udelta
    bada, badb = ma < 0, mb < 0
    # moves
    ga = na / np.maximum(na - 1, 1) * aa - nb / (nb + 1) * (aa + uu[:, None] - 2 * ua)
    ga[((na <= s.size) | (nb >= s.most))[:, 0]] = -np.inf
    out[:, :w, w] = ga
    gb = nb / np.maximum(nb - 1, 1) * bb - na / (na + 1) * (bb + uu[:, None] + 2 * ub)
    gb[((nb <= s.size) | (na >= s.most))[:, 0]] = -np.inf
    out[:, w, :w] = gb
    pa, sa = np.nonzero(bada)
    out[pa, sa] = -np.inf
    pb, sb = np.nonzero(badb)
    out[pb, :, sb] = -np.inf
    flat = out.reshape(n, -1)
    best = flat.argmax(axis=1)
    g = flat[np.arange(n), best]
    i, j = best // (w + 1), best % (w + 1)
    tol = _GAIN * ((aa * ~bada).sum(1) + (bb * ~badb).sum(1))
    g[g <= tol] = 0
    i[i == w] = s.most
    j[j == w] = s.most
    return g, i * (s.most + 1) + j


def match(a, b, gain, g):
    todo = np.flatnonzero(gain > 0)
    todo = todo[np.argsort(-gain[todo], kind="stable")]
    free = np.ones(g, bool)
    chosen = []
    while todo.size:
        first = np.empty(g, np.int64)
        r = np.arange(todo.size)[::-1]
        both = np.stack((a[todo], b[todo]), axis=1)[::-1].ravel()
        first[both] = np.repeat(r, 2)
        ok = (first[a[todo]] == np.arange(todo.size)) & (first[b[todo]] == np.arange(todo.size))
        chosen.append(todo[ok])
        free[a[todo[ok]]] = False
        free[b[todo[ok]]] = False
        todo = todo[free[a[todo]] & free[b[todo]]]
    return np.concatenate(chosen) if chosen else todo


def apply(s, a, b, pick):
    i, j = pick // (s.most + 1), pick % (s.most + 1)
    swap = (i < s.most) & (j < s.most)
    A, B, I, J = a[swap], b[swap], i[swap], j[swap]
    s.members[A, I], s.members[B, J] = s.members[B, J], s.members[A, I]
    for mv, src, dst, slot in ((j == s.most, a, b, i), (i == s.most, b, a, j)):
        S, D, K = src[mv], dst[mv], slot[mv]
        rec = s.members[S, K]
        last = s.counts[S] - 1
        s.members[S, K] = s.members[S, last]
        s.members[S, last] = -1
        s.members[D, s.counts[D]] = rec
        s.counts[S] -= 1
        s.counts[D] += 1
    s.refresh(np.concatenate((a, b)))


def improved(x, labels, size, sweeps=SWEEPS, trace=None):
    s = _State(x, labels, size)
    g = s.counts.size
    if g < 2:
        return labels.copy()
    for share in (0.5, 0.4, 0.6):
        a, b = neighbours(s.centroids, share)
        gain, pick = gains(s, a, b)
        for _ in range(sweeps):
            t = match(a, b, gain, g)
            if not t.size:
                break
            if trace is not None:
                trace(_, t.size, gain[t].sum())
            apply(s, a[t], b[t], pick[t])
            stale = np.zeros(g, bool)
            stale[a[t]] = stale[b[t]] = True
            e = np.flatnonzero(stale[a] | stale[b])
            gain[e], pick[e] = gains(s, a[e], b[e])
    out = np.empty(len(x), np.int64)
    ok = s.members >= 0
    out[s.members[ok]] = np.nonzero(ok)[0]
    return out
