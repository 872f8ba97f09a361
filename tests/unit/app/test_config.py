"""Settings: defaults, and values that are refused with the name of the variable."""

import pytest

from app.disk_schedule.settings import ControllerSettings, load_controller
from app.errors import InputError
from app.settings import Settings, load
from extender import Balance


def environ(text: str) -> dict[str, str]:
    """Read `PORT=0 HOST=x` as variables, each name with the prefix of ours."""
    pairs = [each.partition("=") for each in text.split()]
    return {f"EXTENDER_{name}": value for name, _, value in pairs}


WEBHOOK = (
    "WEBHOOK_PORT=9506 WEBHOOK_CERT_FILE=cert WEBHOOK_PRIVATE_KEY_FILE=key "
    "WEBHOOK_SCHEDULER_NAME=longhorn-scheduler"
)
MUTUAL = "TLS_CERT_FILE=cert TLS_PRIVATE_KEY_FILE=key CLIENT_CA_FILE=ca METRICS_PORT=9505"
READ = {
    "webhook": (
        WEBHOOK,
        Settings(
            webhook_port=9506,
            webhook_cert_file="cert",
            webhook_private_key_file="key",
            webhook_scheduler_name="longhorn-scheduler",
        ),
    ),
    "others": (
        "HOST=::1 PORT=0 BODY_LIMIT_BYTES=1 BODY_TIMEOUT_SECONDS=5 KEEP_ALIVE_SECONDS=91 "
        "STEP_LIMIT=2 REQUEST_STEP_LIMIT=3 BALANCE=pack LOG_LEVEL=debug "
        "STARTUP_TAINT=startup-taint.example/Long.horn_1",
        Settings(
            host="::1",
            port=0,
            body_limit_bytes=1,
            body_timeout_seconds=5.0,
            keep_alive_seconds=91,
            step_limit=2,
            request_step_limit=3,
            balance=Balance.PACK,
            log_level="debug",
            startup_taint="startup-taint.example/Long.horn_1",
        ),
    ),
}


def test_without_variables_all_have_their_defaults():
    assert load({"PATH": "/bin", "HOST": "x", "extender_port": "1"}) == Settings()


@pytest.mark.parametrize(("given", "settings"), READ.values(), ids=READ)
def test_every_setting_is_read(given, settings):
    assert load(environ(given)) == settings


def test_names_of_clients_are_separated_by_commas():
    names = {"EXTENDER_CLIENT_NAMES": "kube-scheduler, system:kube-scheduler,"}

    settings = load({**environ(MUTUAL), **names})

    assert settings.allowed_clients == {"kube-scheduler", "system:kube-scheduler"}


BAD = [
    *("PORT=", "PORT=tcp://10.0.0.1:9504", "PORT=" + "9" * 5_000),
    *("BODY_LIMIT_BYTES=0", "BODY_LIMIT_BYTES=256Mi"),
    *("BODY_TIMEOUT_SECONDS=0", "BODY_TIMEOUT_SECONDS=nan", "BODY_TIMEOUT_SECONDS=inf"),
    *("KEEP_ALIVE_SECONDS=90", "STEP_LIMIT=0", "BALANCE=", "BALANCE=Spread", "LOG_LEVEL=loud"),
    *("STARTUP_TAINT=a/b/c", "STARTUP_TAINT=longhorn:NoSchedule", "STARTUP_TAINT=" + "a" * 318),
]


@pytest.mark.parametrize("given", BAD)
def test_bad_value_is_refused_with_the_name_of_its_setting(given):
    [name] = environ(given)

    with pytest.raises(InputError) as caught:
        load(environ(given))

    assert name in str(caught.value)


@pytest.mark.parametrize("given", ["PROT=1", "=1", "PORT_=1", "EXTENDER_PORT=1"])
def test_unknown_variable_is_refused_by_its_name(given):
    [name] = environ(given)

    with pytest.raises(InputError) as caught:
        load(environ(given))

    assert repr(name) in str(caught.value)


CHOICES = {
    "EXTENDER_BALANCE": "spread, pack, off",
    "EXTENDER_RESERVATION_MODE": "capacity, node",
    "EXTENDER_LOG_LEVEL": "debug, error, info, warning",
}


@pytest.mark.parametrize(("name", "choices"), CHOICES.items())
def test_where_there_are_only_some_values_a_refusal_lists_them(name, choices):
    with pytest.raises(InputError) as caught:
        load({name: "x"})

    assert f"'x' - at {name} (one of {choices})" in str(caught.value)


def test_refusal_is_one_line():
    with pytest.raises(InputError) as caught:
        load({"EXTENDER_LOG_LEVEL": "a\nb", "EXTENDER_A\nB": "x"})

    assert "\n" not in str(caught.value)


TOGETHER = {
    "TLS_CERT_FILE=a": "EXTENDER_TLS_PRIVATE_KEY_FILE go together",
    "TLS_PRIVATE_KEY_FILE=a": "EXTENDER_TLS_CERT_FILE and",
    "CLIENT_NAMES=kube-scheduler":
        "'kube-scheduler': it lists names .* and needs EXTENDER_CLIENT_CA_FILE",
    f"{MUTUAL} CLIENT_NAMES=,": "EXTENDER_CLIENT_NAMES is ',': it lists names",
    "CLIENT_CA_FILE=a METRICS_PORT=1": "needs EXTENDER_TLS_CERT_FILE",
    "TLS_CERT_FILE=a TLS_PRIVATE_KEY_FILE=b CLIENT_CA_FILE=c": "needs EXTENDER_METRICS_PORT",
    "VIEW_AGE_LIMIT_SECONDS=90": "must exceed the 90 s",
    "RETRY_PERIOD_SECONDS=3.25": "and that twice",
    "METRICS_PORT=9504": "both 9504; leave the first unset",
    "WEBHOOK_PORT=0": "set all three, or none",
    "WEBHOOK_PORT=9506 WEBHOOK_CERT_FILE=a": "EXTENDER_WEBHOOK_PRIVATE_KEY_FILE go together",
    "WEBHOOK_PRIVATE_KEY_FILE=a WEBHOOK_CERT_FILE=a": "set all three, or none",
    "WEBHOOK_SCHEDULER_NAME=a": "needs EXTENDER_WEBHOOK_PORT",
    f"{WEBHOOK} WEBHOOK_PORT=9504": "is 9504, as is another port",
    f"{WEBHOOK} METRICS_PORT=9506": "is 9506, as is another port",
    # A setting of the controller alone.
    "MANAGE_OBJECTS=true": "EXTENDER_MANAGE_OBJECTS",
}  # fmt: skip


@pytest.mark.parametrize(("given", "text"), TOGETHER.items())
def test_settings_that_do_not_go_together_are_refused(given, text):
    with pytest.raises(InputError, match=text):
        load(environ(given))


def test_all_ports_may_be_any_free_one():
    settings = load(environ(f"{WEBHOOK} PORT=0 METRICS_PORT=0 WEBHOOK_PORT=0"))

    assert (settings.port, settings.metrics_port, settings.webhook_port) == (0, 0, 0)


def test_controller_reads_the_same_variables():
    settings = load_controller(environ("PORT=0 MANAGE_OBJECTS=true"))

    assert settings == ControllerSettings(port=0, manage_objects=True)


CONTROLLER = {
    "WAKE_UP=true": "there is no setting 'EXTENDER_WAKE_UP'",
    "LEASE_DURATION_SECONDS=5": "must exceed",
    "LOG_LEVEL=loud": "EXTENDER_LOG_LEVEL .one of debug",
}


@pytest.mark.parametrize(("given", "text"), CONTROLLER.items())
def test_controller_refuses_settings_that_it_cannot_use(given, text):
    with pytest.raises(InputError, match=text):
        load_controller(environ(given))
