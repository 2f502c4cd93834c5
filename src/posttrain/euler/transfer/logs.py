"""Task 1: the entries of a log that pass three filters, and a sum over them."""

from datetime import UTC, datetime, timedelta

from posttrain.euler.transfer.template import Template, between, draws, one_of, text_file

_LINES = 320
_SERVICES = ("checkout", "checkout-eu", "search", "billing", "checkout", "gateway")
_LEVELS = ("INFO", "INFO", "WARN", "ERROR", "ERROR")


def _files(_language: str) -> dict[str, bytes]:
    source = draws(11)
    now = datetime(2031, 5, 4, tzinfo=UTC)
    lines = []
    for number in range(1, _LINES + 1):
        now += timedelta(seconds=between(source, 1, 40))
        if number % 80 == 0:
            lines.append("--- log continued by service=checkout level=ERROR ---")
            continue
        level, service = one_of(source, _LEVELS), one_of(source, _SERVICES)
        waited, size = between(source, 20, 999), between(source, 200, 9000)
        lines.append(f"{now:%Y-%m-%dT%H:%M:%SZ} level={level} service={service} ms={waited} bytes={size}")
    return {"service.log": text_file(lines)}


LOGS = Template(
    "filtered log aggregation",
    "The file service.log has one entry a line, such as\n"
    "2031-05-04T00:00:09Z level=INFO service=search ms=41 bytes=812\n"
    "Lines that begin with --- are no entries. Take the entries whose level is ERROR, whose service is exactly "
    "checkout, and whose ms is 400 or more. What is the sum of their bytes?",
    _files,
    "114017",
)
