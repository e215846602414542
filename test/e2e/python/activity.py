"""python-gitlab, as Debian ships it, on activity events, audit events and notification settings.

The first difference ends the tour with a message and a status other than 0.
"""

import os
import sys

import gitlab

gl = gitlab.Gitlab(os.environ["TOUR_URL"], private_token=os.environ["TOUR_TOKEN"])


def step(text):
    print("python:", text, flush=True)


def equal(what, got, want):
    if got != want:
        sys.exit(f"python: {what}: got {got!r}, want {want!r}")


def refused(what, code, call, *args, **kwargs):
    try:
        call(*args, **kwargs)
    except gitlab.exceptions.GitlabError as e:
        equal(what + ", status", e.response_code, code)
        return
    sys.exit(f"python: {what}: was not refused")


gl.auth()
works = gl.groups.create({"name": "Works", "path": "works"})
p = gl.projects.create({"name": "Anvil", "namespace_id": works.id})

step("activity events")
door = p.issues.create({"title": "Mend the door"})
door.notes.create({"body": "Which one?"})
door.state_event = "close"
door.save()
equal("of the project", [e.action_name for e in p.events.list(get_all=True)], ["closed", "commented on", "opened", "created"])
equal("of one kind", [e.target_title for e in p.events.list(target_type="issue", action="closed", get_all=True)], ["Mend the door"])
equal("one's own", [e.action_name for e in gl.events.list(per_page=2, page=1)], ["closed", "commented on"])
equal("of a person", len(gl.users.get(gl.user.id).events.list(get_all=True)), 4)
equal("none after tomorrow", p.events.list(after="2999-01-01", get_all=True), [])
refused("an unknown project", 404, gl.projects.get, 999999)

step("audit events")
ann = gl.users.create({"name": "Ann", "username": "ann", "email": "ann@example.com", "force_random_password": True, "skip_confirmation": True})
works.members.create({"user_id": ann.id, "access_level": gitlab.const.AccessLevel.DEVELOPER})
made = [e for e in works.audit_events.list(get_all=True) if e.details.get("target_type") == "User" and e.details.get("target_id") == ann.id]
equal("of the group", [e.entity_type for e in made], ["Group"])
equal("one of them", works.audit_events.get(made[0].id).id, made[0].id)
equal("of the instance", made[0].id in [e.id for e in gl.audit_events.list(entity_type="Group", entity_id=works.id, get_all=True)], True)
equal("one of the instance", gl.audit_events.get(made[0].id).entity_id, works.id)
equal("of the project", all(e.entity_id == p.id for e in p.audit_events.list(get_all=True)), True)
refused("a missing one", 404, works.audit_events.get, 999999999)

step("notification settings")
s = gl.notificationsettings.get()
equal("everywhere", s.level, "participating")
s.level = gitlab.const.NotificationLevel.WATCH
s.save()
equal("everywhere, changed", gl.notificationsettings.get().level, "watch")
s = works.notificationsettings.get()
equal("of the group", s.level, "global")
s.level = gitlab.const.NotificationLevel.MENTION
s.save()
equal("of the group, changed", works.notificationsettings.get().level, "mention")
s = p.notificationsettings.get()
s.level = gitlab.const.NotificationLevel.CUSTOM
s.new_note = True
s.save()
s = p.notificationsettings.get()
equal("of the project, changed", [s.level, s.events["new_note"], s.events["new_issue"]], ["custom", True, False])
print("python: done")
