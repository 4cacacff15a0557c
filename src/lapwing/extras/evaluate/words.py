"""What evaluations and reports say: sentences by key, from the file beside this one."""

from pathlib import Path
from typing import Final

from lapwing.present.messages import Words

say: Final = Words(Path(__file__).resolve().parent)
