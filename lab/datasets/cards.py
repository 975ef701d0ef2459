"""Cards: what a data set is, where it comes from, who may use it, and the digest of its file."""

from __future__ import annotations

import dataclasses
import functools
import textwrap
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

WIDTH = 100  # columns of a printed card
LABEL = 10  # columns of the labels at its left


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Card:
    """What there is to know about a data set; ``print(card)`` shows it.

    Attributes
    ----------
    title
        The name under which results on these data are reported.
    hidden, among
        What X is (the group whose rows get misfiled) and what Y is (the group they are filed under).
    n_x, n_y
        Their rows in the file.
    n_patients
        Numbers of patients in X and in Y; `None` if every row is another patient, or if it is unknown.
    columns, notes
        What the columns are, and what to know before using the data.
    source, citation, licence
        Where they come from, what to cite, who may use them.
    file, sha256
        Name of the file, and the SHA-256 digest of its bytes.
    """

    title: str
    hidden: str
    among: str
    n_x: int
    n_y: int
    n_patients: tuple[int, int] | None = None
    columns: str
    notes: str = ""
    source: str = ""
    citation: str = ""
    licence: str = ""
    file: str
    sha256: str

    def __str__(self) -> str:
        of_x, of_y = ("", "") if self.n_patients is None else (f" of {n:,} patients" for n in self.n_patients)
        parts = {
            "X": f"{self.hidden}, {self.n_x:,} rows{of_x}",
            "Y": f"{self.among}, {self.n_y:,} rows{of_y}",
            **{name: getattr(self, name) for name in ("columns", "notes", "source")},
            "cite": self.citation,
            **{name: getattr(self, name) for name in ("licence", "file", "sha256")},
        }
        wrap = functools.partial(textwrap.fill, width=WIDTH, break_long_words=False, break_on_hyphens=False)
        beside = " " * (LABEL + 2)
        paragraphs = [
            wrap(text, initial_indent=f"  {label:<{LABEL}}", subsequent_indent=beside)
            for label, text in parts.items()
            if text
        ]
        return "\n".join([self.title, *paragraphs])

    def __repr__(self) -> str:
        return f"Card({self.title!r}, {self.n_x:,} and {self.n_y:,} rows)"


FOREST = Card(
    title="FOREST (Covertype)",
    hidden="Lodgepole Pine (cover type 2)",
    among="Spruce-Fir (cover type 1)",
    n_x=283_301,
    n_y=211_840,
    columns="54: 10 measurements of a 30 m x 30 m cell, 4 wilderness areas and 40 soil types as 0 and 1.",
    notes=(
        "In raw units, whose scales differ by orders of magnitude. Neighbouring cells resemble each other, "
        "so rows are exchangeable only if they are drawn at random."
    ),
    source="UCI Machine Learning Repository, covtype.data; download=True uses scikit-learn's fetch_covtype.",
    citation="Blackard, J. A. (1998). Covertype. UCI Machine Learning Repository. doi:10.24432/C50K5N",
    licence="CC BY 4.0; (c) Jock A. Blackard and Colorado State University.",
    file="forest_covertype.npz",
    sha256="44d50dc83ad14da583626d8d05f6f2a9400e02c55fd26f878bcdcc6d3241b0a5",
)
BIO = Card(
    title="BIO (leukaemia of Golub et al.)",
    hidden="ALL, acute lymphoblastic leukaemia",
    among="AML, acute myeloid leukaemia",
    n_x=47,
    n_y=25,
    columns=(
        "7,128 normal scores or 7,129 raw average differences of Affymetrix HU6800 probes. The scores are "
        "Phi^-1((rank - 0.5) / 7129) within each array; the probe that is lowest on all arrays is left out."
    ),
    notes=(
        "34 samples of the independent set, then 38 of the training set; one sample per patient. Sample 66 "
        "(AML) is most often said to be misclassified."
    ),
    source=(
        "data_set_ALL_AML_train and _independent as published, equal to Bioconductor's golubEsets; "
        "download=True uses scikit-learn's fetch_openml (OpenML data set 1104)."
    ),
    citation=(
        "Golub, T. R. et al. (1999). Molecular classification of cancer: class discovery and class "
        "prediction by gene expression monitoring. Science 286:531-537."
    ),
    licence="Published data, freely redistributed; golubEsets is under the LGPL.",
    file="bio_golub_leukemia.npz",
    sha256="c1a5599f4108885ae3b8da09378fcdc22e4920b60afde5b492e85edb73e81706",
)
_TWO_LOGITS = "2: the logits of a classifier with a linear head, {}, for people it was not fitted to."
DIABETES130 = Card(
    title="Diabetes 130-US hospitals stand-in (not MIMIC-CXR)",
    hidden="Black",
    among="White",
    n_x=3_810,
    n_y=14_797,
    n_patients=(2_572, 10_402),
    columns=_TWO_LOGITS.format("readmitted or not"),
    notes=(
        "Hospital stays of one patient are not exchangeable. Six patients are recorded as Black at one stay "
        "and as White at another; with one row per patient the first stay decides, as in the counts above."
    ),
    source=(
        "Made from UCI's Diabetes 130-US hospitals 1999-2008 (diabetic_data.csv), stays that ended in death "
        "or hospice removed; 129 inputs, race not among them; the 20 % of patients held out."
    ),
    citation=(
        "Strack, B. et al. (2014). Impact of HbA1c measurement on hospital readmission rates. BioMed "
        "Research International 2014, 781670."
    ),
    licence="CC BY 4.0.",
    file="mimic_standin_diabetes130.npz",
    sha256="69fff111111a92b73842f1ee12eaeb4cd34cfb7e4877f1dd3d7ff4e526b4e10d",
)
DIABETES130_30D = dataclasses.replace(
    DIABETES130,
    title="Diabetes 130-US hospitals stand-in, 30 days (not MIMIC-CXR)",
    columns=_TWO_LOGITS.format("readmitted within 30 days or not"),
)
NIH_CXR14 = Card(
    title="NIH ChestX-ray14 stand-in (not MIMIC-CXR)",
    hidden="female",
    among="male",
    n_x=2_154,
    n_y=2_355,
    n_patients=(586, 652),
    columns=_TWO_LOGITS.format("pneumonia or not"),
    notes=(
        "Sex, not race. Images of one patient are not exchangeable. The inputs of the head are the 14 "
        "outputs of a DenseNet-121 that saw none of these images."
    ),
    source=(
        "Made from pretrained/preds.csv of github.com/jrzech/reproduce-chexnet and the NIH's "
        "Data_Entry_2017_v2020.csv; the 20 % of patients held out."
    ),
    citation=(
        "Wang, X. et al. (2017). ChestX-ray8: hospital-scale chest X-ray database and benchmarks on "
        "weakly-supervised classification and localization of common thorax diseases. CVPR."
    ),
    licence="Use unrestricted, with credit to the NIH Clinical Center; the predictions are BSD-3-Clause.",
    file="mimic_standin_nih_cxr14.npz",
    sha256="5ac8455ef974d3c5b461037497446afd9b98af42f18461d64429267039bf56cc",
)
COMPAS = Card(
    title="COMPAS stand-in (not MIMIC-CXR)",
    hidden="African-American",
    among="Caucasian",
    n_x=1_910,
    n_y=1_245,
    columns=_TWO_LOGITS.format("recidivism within two years or not"),
    notes="One row per person. Only 1,432 pairs of logits are distinct, because the inputs are discrete.",
    source=(
        "Made from compas-scores-two-years.csv of github.com/propublica/compas-analysis with ProPublica's "
        "filter; race not among the inputs; the 60 % of rows held out."
    ),
    citation="Angwin, J., Larson, J., Mattu, S. and Kirchner, L. (2016). Machine bias. ProPublica.",
    licence="Public records; the repository states no licence.",
    file="mimic_standin_compas.npz",
    sha256="b3ce0e3d9a9204ef1c84efe12e47ad0fa706c8ce8d4c33c752025149bd0c526e",
)
# The stand-ins for MIMIC-CXR, by the names that `load_standin` takes.
STANDINS: Mapping[str, Card] = MappingProxyType(
    {"diabetes130": DIABETES130, "diabetes130_30d": DIABETES130_30D}
    | {"nih_cxr14": NIH_CXR14, "compas": COMPAS}
)
CARDS: Mapping[str, Card] = MappingProxyType({"forest": FOREST, "bio": BIO, **STANDINS})
