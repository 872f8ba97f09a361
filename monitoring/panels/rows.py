"""The rows of the dashboard, in their order."""

from monitoring.panels.ahead import DAYS_TO_COME
from monitoring.panels.answering import ANSWERS, INJECTION, SCORES
from monitoring.panels.disk_schedules import DISK_SCHEDULE
from monitoring.panels.glance import AT_A_GLANCE
from monitoring.panels.holding import HOLDS, WAITING
from monitoring.panels.running import LEADER_AND_VIEW, PROCESSES

ROWS = (
    AT_A_GLANCE,
    ANSWERS,
    SCORES,
    HOLDS,
    WAITING,
    DAYS_TO_COME,
    INJECTION,
    LEADER_AND_VIEW,
    DISK_SCHEDULE,
    PROCESSES,
)
