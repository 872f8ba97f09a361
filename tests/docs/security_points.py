"""What docs/security.md says, and the tests that try it.

A point is named by its words in bold, a chapter without points by its title.
"""

from collections.abc import Mapping

POINTS: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "see that it is there": {
        "tests/integration/test_tls.py": (
            "test_plain_http_is_refused_on_the_port_of_https",
            "test_probes_and_metrics_need_no_certificate_on_their_own_port",
        ),
        "tests/unit/app/serving/test_http.py": (
            "test_what_is_inside_is_never_shown_on_the_port_of_the_metrics",
        ),
    },
    "take time": {
        "tests/integration/test_door.py": (
            "test_strangers_displace_strangers_alone",
            "test_who_says_nothing_is_sent_away",
            "test_the_metrics_take_a_share_of_the_time_and_the_answers_the_rest",
        ),
    },
    "have room held, or read which nodes have room": {
        "tests/integration/test_tls.py": (
            "test_a_client_without_or_with_a_wrong_certificate_is_not",
            "test_a_client_with_another_name_of_the_same_ca_is_refused_by_its_name",
            "test_it_is_refused_every_path",
        ),
        "tests/e2e/test_tls.py": (
            "test_a_certificate_of_somebody_else_is_refused_and_the_pod_waits",
        ),
    },
    "close kube-scheduler's connections": {
        "tests/integration/test_door.py": ("test_strangers_displace_strangers_alone",),
    },
    "ask for any pod": {
        "tests/integration/test_strangers.py": (
            "test_anybody_is_told_where_there_is_room_and_which_claims_exist",
        ),
    },
    "have room held": {
        "tests/integration/test_strangers.py": (
            "test_a_pod_that_waits_is_held_for_while_a_stranger_goes_on_asking",
            "test_the_room_of_a_pod_that_does_not_exist_is_free_soon",
        ),
    },
    "take back what was told of a pod that waits": {
        "tests/integration/test_holds.py": ("test_the_same_pod_asked_twice_at_once_has_one_hold",),
    },
    "read `/debug/state` and the picture": {
        "tests/integration/test_debug_state.py": (
            "test_it_is_not_served_unless_it_is_wanted",
            "test_holds_and_what_they_charge_are_shown",
        ),
    },
    "take the hold of another pod": {
        "tests/integration/test_strangers.py": (
            "test_a_pod_of_the_same_uid_is_an_error_and_ends_no_hold",
        ),
        "tests/unit/extender/holds/test_size.py": (
            "test_hold_of_a_uid_is_for_the_pod_that_has_asked_first",
        ),
    },
    "change or read an object of the cluster": {
        "tests/integration/test_strangers.py": (
            "test_what_strangers_send_changes_no_object_and_reads_only_the_pods_that_it_names",
            "test_a_name_that_leads_out_of_its_path_is_refused_and_nothing_is_sent",
        ),
        "tests/unit/app/serving/test_names.py": (
            "test_a_request_with_a_wrong_name_is_refused_with_its_field_and_value",
        ),
        "tests/unit/app/kube/test_paths.py": (
            "test_a_name_never_leaves_its_segment",
            "test_a_name_that_no_object_can_have_makes_no_path",
        ),
        "tests/e2e/test_strangers.py": ("test_a_name_that_leads_to_another_object_is_refused",),
    },
    "end the process": {
        "tests/integration/test_mutated_requests.py": (
            "test_mutated_requests_are_answered_and_the_process_goes_on",
        ),
        "tests/integration/test_memory.py": (
            "test_requests_that_are_invented_or_large_leave_nothing_behind",
            "test_a_body_of_128_mib_is_answered_or_refused_within_300_mib",
        ),
        "tests/integration/test_server.py": (
            "test_a_body_in_chunks_is_refused_before_any_of_it_is_read",
            "test_headers_are_bounded",
        ),
    },
    "Who may read the Secrets": {
        "tests/integration/test_tls.py": ("test_a_client_with_an_allowed_name_is_answered",),
    },
    "To take one away": {
        "tests/integration/test_tls.py": (
            "test_a_client_without_or_with_a_wrong_certificate_is_not",
        ),
    },
    "Without certificates": {
        "tests/integration/test_door.py": ("test_plain_http_is_answered_until_a_time",),
        "tests/integration/test_strangers.py": (
            "test_a_pod_that_waits_is_held_for_while_a_stranger_goes_on_asking",
        ),
    },
    "The webhook": {
        "tests/integration/test_tls.py": ("test_the_webhook_needs_no_certificate_of_its_clients",),
        "tests/integration/test_mutate.py": (
            "test_a_pod_that_may_have_longhorn_volumes_gets_the_resource",
            "test_a_pod_with_other_volumes_is_created_as_it_is",
            "test_each_port_serves_its_own_clients_alone",
        ),
        "tests/unit/manifests/test_chart.py": ("test_who_may_reach_which_port",),
    },
    "Who may edit the Lease": {
        "tests/integration/test_two_leaders.py": (
            "test_somebody_who_renews_the_lease_stops_the_service_and_leads_to_nobody_else",
            "test_a_leader_whose_lease_was_given_away_steps_down_at_once",
            "test_a_lease_that_was_tampered_with_has_one_holder_after_a_renewal",
        ),
    },
    "Who may edit EndpointSlices": {
        "tests/e2e/test_admission_policy.py": (
            "test_nobody_else_changes_where_the_service_leads",
            "test_nobody_else_adds_or_deletes_a_slice_of_the_service",
            "test_nor_does_the_controller_that_makes_slices_of_endpoints",
        ),
    },
    "answer kube-scheduler in the place of the service": {
        "tests/integration/test_endpoints.py": ("test_edits_of_others_are_repaired",),
    },
    "Who may edit the ConfigMap": {
        "tests/integration/test_live_settings.py": (
            "test_disabling_gives_back_the_lease_and_the_endpoints",
        ),
    },
    "kube-scheduler believes any answer": {
        "tests/e2e/test_between.py": (
            "test_kube_scheduler_believes_that_a_full_node_has_room",
            "test_it_accepts_no_node_that_is_not_among_its_candidates",
        ),
    },
    "keep the answers away": {
        "tests/e2e/test_tls.py": (
            "test_a_certificate_of_somebody_else_is_refused_and_the_pod_waits",
            "test_without_a_ca_kube_scheduler_believes_any_certificate",
        ),
    },
    "It reads no Secrets.": {
        "tests/integration/test_rbac.py": (
            "test_nothing_of_storage_is_written_and_no_secret_is_read",
        ),
    },
    "`patch` on pods": {
        "tests/unit/app/kube/test_pods.py": (
            "test_waking_sets_an_annotation_and_nothing_else",
            "test_another_pod_of_the_name_is_not_woken",
        ),
        "tests/e2e/test_admission_policy.py": (
            "test_the_account_may_set_its_annotation",
            "test_the_account_may_change_nothing_else_of_a_pod",
        ),
    },
    "EndpointSlices": {
        "tests/e2e/test_admission_policy.py": (
            "test_the_account_writes_the_slices_of_its_service",
            "test_the_account_writes_no_slice_of_another_service",
        ),
    },
    "It writes no claims, no volumes and no objects of Longhorn.": {
        "tests/integration/test_rbac.py": (
            "test_nothing_of_storage_is_written_and_no_secret_is_read",
        ),
        "tests/e2e/test_rights.py": (
            "test_every_request_of_a_whole_life_is_granted_and_every_grant_is_needed",
            "test_the_controller_of_disk_schedules_has_the_rights_it_needs_and_no_others",
        ),
    },
    "Rights in the cluster": {
        "tests/integration/test_rbac.py": (
            "test_every_call_of_a_whole_life_is_granted",
            "test_every_grant_is_used_in_a_whole_life",
            "test_everywhere_is_granted_what_is_in_any_namespace_or_in_none",
        ),
        "tests/e2e/test_rights.py": (
            "test_every_request_of_a_whole_life_is_granted_and_every_grant_is_needed",
        ),
        "tests/unit/manifests/test_chart.py": ("test_who_does_without_has_fewer_rights",),
    },
    "What RBAC cannot say": {
        "tests/e2e/test_admission_policy.py": (
            "test_an_administrator_repairs_them_by_hand",
            "test_kubernetes_deletes_the_slices_of_a_service_that_is_deleted",
        ),
        "tests/e2e/test_startup_taint.py": (
            "test_the_account_takes_that_taint_off",
            "test_it_changes_nothing_else_of_a_node",
        ),
        "tests/unit/manifests/test_chart.py": (
            "test_nodes_may_be_patched_only_where_a_policy_says_how",
        ),
    },
    "The pod": {
        "tests/unit/manifests/test_manifests.py": (
            "test_pods_are_hardened",
            "test_only_the_pods_of_the_deployment_get_the_token",
            "test_the_container_runs_serve_within_its_memory_and_without_a_cpu_limit",
        ),
        "tests/unit/app/page/test_page.py": (
            "test_no_name_ends_the_data_or_begins_markup",
            "test_only_its_own_script_and_style_may_run",
            "test_nothing_in_it_names_another_place",
            "test_its_script_makes_no_markup_of_texts",
        ),
        "tests/page/test_live.py": ("test_names_are_inert",),
        "tests/integration/test_strangers.py": (
            "test_no_label_of_a_metric_contains_what_strangers_send",
        ),
    },
    "The network": {
        "tests/unit/manifests/test_chart.py": (
            "test_who_may_reach_which_port",
            "test_probes_and_prometheus_ask_a_port_that_is_open_to_all",
        ),
    },
}
"""Each with the files and their tests."""
