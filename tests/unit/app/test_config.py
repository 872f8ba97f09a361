"""Settings: defaults, and values that are refused with the name of the variable."""

import pytest

from app.disk_schedule.settings import ControllerSettings, load_controller
from app.errors import InputError
from app.settings import Settings, load
from extender import Balance

WEBHOOK = {
    "EXTENDER_WEBHOOK_PORT": "9506",
    "EXTENDER_WEBHOOK_CERT_FILE": "cert",
    "EXTENDER_WEBHOOK_PRIVATE_KEY_FILE": "key",
    "EXTENDER_WEBHOOK_SCHEDULER_NAME": "longhorn-scheduler",
}

MUTUAL = {
    "EXTENDER_TLS_CERT_FILE": "cert",
    "EXTENDER_TLS_PRIVATE_KEY_FILE": "key",
    "EXTENDER_CLIENT_CA_FILE": "ca",
    "EXTENDER_METRICS_PORT": "9505",
}


def test_without_variables_all_have_their_defaults():
    assert load({"PATH": "/bin", "HOST": "x", "extender_port": "1"}) == Settings()


def test_the_webhook_has_four_settings():
    assert load(WEBHOOK) == Settings(
        webhook_port=9506,
        webhook_cert_file="cert",
        webhook_private_key_file="key",
        webhook_scheduler_name="longhorn-scheduler",
    )


def test_names_of_clients_are_separated_by_commas():
    settings = load({**MUTUAL, "EXTENDER_CLIENT_NAMES": "kube-scheduler, system:kube-scheduler,"})

    assert settings.allowed_clients == {"kube-scheduler", "system:kube-scheduler"}


def test_every_setting_is_read():
    environ = {
        "EXTENDER_HOST": "::1",
        "EXTENDER_PORT": "0",
        "EXTENDER_BODY_LIMIT_BYTES": "1",
        "EXTENDER_BODY_TIMEOUT_SECONDS": "5",
        "EXTENDER_KEEP_ALIVE_SECONDS": "91",
        "EXTENDER_STEP_LIMIT": "2",
        "EXTENDER_REQUEST_STEP_LIMIT": "3",
        "EXTENDER_BALANCE": "pack",
        "EXTENDER_LOG_LEVEL": "debug",
        "EXTENDER_STARTUP_TAINT": "startup-taint.example/Long.horn_1",
    }

    assert load(environ) == Settings(
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
    )


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("EXTENDER_PORT", ""),
        ("EXTENDER_PORT", "tcp://10.0.0.1:9504"),
        ("EXTENDER_PORT", "9" * 5_000),
        ("EXTENDER_BODY_LIMIT_BYTES", "0"),
        ("EXTENDER_BODY_LIMIT_BYTES", "256Mi"),
        ("EXTENDER_BODY_TIMEOUT_SECONDS", "0"),
        ("EXTENDER_BODY_TIMEOUT_SECONDS", "nan"),
        ("EXTENDER_BODY_TIMEOUT_SECONDS", "inf"),
        ("EXTENDER_KEEP_ALIVE_SECONDS", "90"),
        ("EXTENDER_STEP_LIMIT", "0"),
        ("EXTENDER_BALANCE", ""),
        ("EXTENDER_BALANCE", "Spread"),
        ("EXTENDER_LOG_LEVEL", "loud"),
        ("EXTENDER_STARTUP_TAINT", "a/b/c"),
        ("EXTENDER_STARTUP_TAINT", "longhorn:NoSchedule"),
        ("EXTENDER_STARTUP_TAINT", "a" * 318),
    ],
)
def test_a_bad_value_is_refused_with_the_name_of_its_setting(name, value):
    with pytest.raises(InputError) as caught:
        load({name: value})

    assert name in str(caught.value)


@pytest.mark.parametrize(
    ("name", "choices"),
    [
        ("EXTENDER_BALANCE", "spread, pack, off"),
        ("EXTENDER_RESERVATION_MODE", "capacity, node"),
        ("EXTENDER_LOG_LEVEL", "debug, error, info, warning"),
    ],
)
def test_where_there_are_only_some_values_a_refusal_lists_them(name, choices):
    with pytest.raises(InputError) as caught:
        load({name: "x"})

    assert f"'x' - at {name} (one of {choices})" in str(caught.value)


@pytest.mark.parametrize(
    "name", ["EXTENDER_PROT", "EXTENDER_", "EXTENDER_PORT_", "EXTENDER_EXTENDER_PORT"]
)
def test_an_unknown_variable_is_refused_by_its_name(name):
    with pytest.raises(InputError) as caught:
        load({name: "1"})

    assert repr(name) in str(caught.value)


def test_a_refusal_is_one_line():
    with pytest.raises(InputError) as caught:
        load({"EXTENDER_LOG_LEVEL": "a\nb", "EXTENDER_A\nB": "x"})

    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("environ", "text"),
    [
        ({"EXTENDER_TLS_CERT_FILE": "a"}, "EXTENDER_TLS_PRIVATE_KEY_FILE go together"),
        ({"EXTENDER_TLS_PRIVATE_KEY_FILE": "a"}, "EXTENDER_TLS_CERT_FILE and"),
        (
            {"EXTENDER_CLIENT_NAMES": "kube-scheduler"},
            "'kube-scheduler': it lists names .* and needs EXTENDER_CLIENT_CA_FILE",
        ),
        (
            {**MUTUAL, "EXTENDER_CLIENT_NAMES": " , "},
            "EXTENDER_CLIENT_NAMES is ' , ': it lists names",
        ),
        (
            {"EXTENDER_CLIENT_CA_FILE": "a", "EXTENDER_METRICS_PORT": "1"},
            "needs EXTENDER_TLS_CERT_FILE",
        ),
        (
            {
                "EXTENDER_TLS_CERT_FILE": "a",
                "EXTENDER_TLS_PRIVATE_KEY_FILE": "b",
                "EXTENDER_CLIENT_CA_FILE": "c",
            },
            "needs EXTENDER_METRICS_PORT",
        ),
        ({"EXTENDER_VIEW_AGE_LIMIT_SECONDS": "90"}, "must exceed the 90 s"),
        ({"EXTENDER_RETRY_PERIOD_SECONDS": "3.25"}, "and that twice"),
        ({"EXTENDER_METRICS_PORT": "9504"}, "both 9504; leave the first unset"),
        ({"EXTENDER_WEBHOOK_PORT": "0"}, "set all three, or none"),
        (
            {"EXTENDER_WEBHOOK_PORT": "9506", "EXTENDER_WEBHOOK_CERT_FILE": "a"},
            "EXTENDER_WEBHOOK_PRIVATE_KEY_FILE go together",
        ),
        (
            {"EXTENDER_WEBHOOK_PRIVATE_KEY_FILE": "a", "EXTENDER_WEBHOOK_CERT_FILE": "a"},
            "set all three, or none",
        ),
        ({"EXTENDER_WEBHOOK_SCHEDULER_NAME": "a"}, "needs EXTENDER_WEBHOOK_PORT"),
        ({**WEBHOOK, "EXTENDER_WEBHOOK_PORT": "9504"}, "is 9504, as is another port"),
        (
            {**WEBHOOK, "EXTENDER_METRICS_PORT": "9506"},
            "is 9506, as is another port",
        ),
    ],
)
def test_settings_that_do_not_go_together(environ, text):
    with pytest.raises(InputError, match=text):
        load(environ)


def test_all_ports_may_be_any_free_one():
    ports = ("EXTENDER_PORT", "EXTENDER_METRICS_PORT", "EXTENDER_WEBHOOK_PORT")
    settings = load(WEBHOOK | dict.fromkeys(ports, "0"))

    assert (settings.port, settings.metrics_port, settings.webhook_port) == (0, 0, 0)


def test_the_controller_reads_the_same_variables():
    environ = {"EXTENDER_PORT": "0", "EXTENDER_MANAGE_OBJECTS": "true"}

    assert load_controller(environ) == ControllerSettings(port=0, manage_objects=True)


@pytest.mark.parametrize(
    ("environ", "text"),
    [
        ({"EXTENDER_WAKE_UP": "true"}, "there is no setting 'EXTENDER_WAKE_UP'"),
        ({"EXTENDER_LEASE_DURATION_SECONDS": "5"}, "must exceed"),
        ({"EXTENDER_LOG_LEVEL": "loud"}, "EXTENDER_LOG_LEVEL .one of debug"),
    ],
)
def test_the_controller_refuses_what_it_cannot_use(environ, text):
    with pytest.raises(InputError, match=text):
        load_controller(environ)


def test_the_service_has_no_setting_of_the_controller_alone():
    with pytest.raises(InputError, match="EXTENDER_MANAGE_OBJECTS"):
        load({"EXTENDER_MANAGE_OBJECTS": "true"})
