from click.testing import CliRunner

from tarry.cli.bench.command import bench


def test_it_lists_what_can_be_measured() -> None:
    said = CliRunner().invoke(bench, ["--help"]).output
    assert "deliver" in said
    assert "ingest" in said
