"""promtool accepts the rules, and each alert fires in its time and in no other."""

import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from monitoring.rules import ALERTS, RULE_FILE
from tests.monitoring.rule_cases import CASES, Case, series_of
from tests.pod_process import ROOT

FIRING = 'count by (alertname) (ALERTS{alertstate="firing"})'
BY_NAME = {alert.name: alert.alert for alert in ALERTS}


@pytest.fixture
def rules(tmp_path: Path) -> Path:
    """What is in the PrometheusRule, as Prometheus reads it."""
    file = tmp_path / "rules.yaml"
    file.write_text(yaml.safe_dump(yaml.safe_load(RULE_FILE.read_text())["spec"]))
    return file


def promtool(*arguments: str | Path) -> None:
    done = subprocess.run(
        ["promtool", *arguments], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_promtool_accepts_the_rules(rules):
    promtool("check", "rules", "--lint=all", "--lint-fatal", rules)


def test_promtool_accepts_the_job_of_the_documentation(tmp_path):
    text = (ROOT / "docs" / "monitoring.md").read_text(encoding="utf-8")
    [targets] = re.findall(r"```yaml\n(scrape_configs:.*?)```", text, flags=re.DOTALL)
    configuration = yaml.safe_load(targets)
    [job] = configuration["scrape_configs"]
    del job["kubernetes_sd_configs"]  # Debian builds Prometheus without it
    file = tmp_path / "prometheus.yaml"
    file.write_text(yaml.safe_dump(configuration))

    promtool("check", "config", "--syntax-only", file)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.title)
def test_what_fires_is(case, rules):
    file = rules.with_name("cases.yaml")
    file.write_text(yaml.safe_dump({"rule_files": [str(rules)], "tests": [_test(case)]}))

    promtool("test", "rules", file)


def test_every_alert_fires_in_a_case():
    fired = {name for case in CASES for names in case.firing.values() for name in names}

    assert fired == {*BY_NAME}


def _test(case: Case) -> dict[str, Any]:
    return {
        "name": case.title,
        "interval": "30s",
        "input_series": [{"series": key, "values": v} for key, v in series_of(case).items()],
        "promql_expr_test": [
            {"expr": FIRING, "eval_time": f"{minute}m", "exp_samples": _samples(names)}
            for minute, names in case.firing.items()
        ],
    }


def _samples(names: tuple[str, ...]) -> list[dict[str, Any]]:
    """Say which alerts fire, each of them once."""
    return [{"labels": f'{{alertname="{BY_NAME[name]}"}}', "value": 1} for name in sorted(names)]
