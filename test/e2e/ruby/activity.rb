# ruby-gitlab, as Debian ships it, on activity events, and by its plain calls on audit events and notification settings, which it has no methods for. The first
# difference ends the tour.

require "gitlab"

CLIENT = Gitlab.client(endpoint: "#{ENV.fetch("TOUR_URL")}/api/v4", private_token: ENV.fetch("TOUR_TOKEN"))

def step(text)
  puts "ruby: #{text}"
  $stdout.flush
end

def equal(what, got, want)
  abort "ruby: #{what}: got #{got.inspect}, want #{want.inspect}" unless got == want
end

works = CLIENT.create_group("Works", "works").id
id = CLIENT.create_project("Anvil", namespace_id: works).id

step "activity events"
CLIENT.create_issue(id, "Mend the door")
CLIENT.create_issue_note(id, 1, "Which one?")
CLIENT.close_issue(id, 1)
equal "of the project", CLIENT.project_events(id).map(&:action_name), ["closed", "commented on", "opened", "created"]
equal "of one kind", CLIENT.project_events(id, target_type: "issue", action: "closed").map(&:target_title), ["Mend the door"]
equal "one's own", CLIENT.events(per_page: 2).map(&:action_name), ["closed", "commented on"]
equal "of a person", CLIENT.user_events(CLIENT.user.id).length, 4

step "audit events"
ann = CLIENT.create_user("ann@example.com", ENV.fetch("TOUR_PASSWORD"), "ann", name: "Ann", skip_confirmation: true).id
CLIENT.add_group_member(works, ann, 30)
made = CLIENT.get("/groups/#{works}/audit_events").find { |e| e.details["target_id"] == ann }
equal "of the group", made.entity_type, "Group"
equal "one of them", CLIENT.get("/groups/#{works}/audit_events/#{made.id}").id, made.id
equal "one of the instance", CLIENT.get("/audit_events/#{made.id}").entity_id, works
equal "of the project", CLIENT.get("/projects/#{id}/audit_events").map(&:entity_id).uniq - [id], []

step "notification settings"
equal "everywhere", CLIENT.get("/notification_settings").level, "participating"
equal "everywhere, changed", CLIENT.put("/notification_settings", body: { level: "watch" }).level, "watch"
equal "of the group", CLIENT.put("/groups/#{works}/notification_settings", body: { level: "mention" }).level, "mention"
own = CLIENT.put("/projects/#{id}/notification_settings", body: { level: "custom", new_note: true })
equal "of the project", [own.level, own.events["new_note"], own.events["new_issue"]], ["custom", true, false]
begin
  CLIENT.put("/projects/#{id}/notification_settings", body: { level: "loud" })
  abort "ruby: an unknown level was taken"
rescue Gitlab::Error::BadRequest => e
  equal "an unknown level", e.response_status, 400
end
puts "ruby: done"
