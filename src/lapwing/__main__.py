"""The command `lapwing` for ``python -m lapwing``, where its script is not on the path."""

from lapwing.cli.main import run

if __name__ == "__main__":
    run()
