# frozen_string_literal: true

# ruby-gitlab, as Debian ships it, against a running forge. The first
# difference ends the tour with a message and a status other than 0.

require 'gitlab'

URL_ = ENV.fetch('TOUR_URL')
PASSWORD = ENV.fetch('TOUR_PASSWORD')
SSH_KEYS = ENV.fetch('TOUR_SSH_KEYS').split("\n")

def client(token, **options)
  Gitlab.client(endpoint: "#{URL_}/api/v4", private_token: token, **options)
end

def step(text)
  puts "ruby: #{text}"
  $stdout.flush
end

def equal(what, got, want)
  abort "ruby: #{what}: got #{got.inspect}, want #{want.inspect}" unless got == want
end

def refused(what, error, message)
  yield
rescue error => e
  abort "ruby: #{what}: #{e.message}" unless e.message.include?("message: #{message}. ")
else
  abort "ruby: #{what}: was not refused"
end

root = client(ENV.fetch('TOUR_TOKEN'))

step 'who am I'
equal 'current user', root.user.username, 'root'
equal 'an administrator', root.user.is_admin, true
equal 'a version', root.version.version.empty?, false
refused('an unknown token', Gitlab::Error::Unauthorized, '401 Unauthorized') { client('unknown').user }

step 'accounts'
ann = root.create_user('ann@example.com', PASSWORD, 'ann', name: 'Ann', skip_confirmation: true, bio: 'writes')
equal 'username', ann.username, 'ann'
equal 'bio', ann.bio, 'writes'
equal 'created by', ann.created_by.username, 'root'
bob = root.create_user('bob@example.com', PASSWORD, 'bob', name: 'Bob', skip_confirmation: true, external: true)
equal 'external', bob.external, true
equal 'read again', root.user(ann.id).email, 'ann@example.com'
equal 'changed', root.edit_user(ann.id, name: 'Ann Lee', bio: '').name, 'Ann Lee'
equal 'no bio', root.user(ann.id).bio, ''
refused('a taken email', Gitlab::Error::Conflict, 'Email has already been taken') do
  root.create_user('ann@example.com', PASSWORD, 'ann2', name: 'Ann')
end
refused('a taken username', Gitlab::Error::Conflict, 'Username has already been taken') do
  root.create_user('ann2@example.com', PASSWORD, 'ANN', name: 'Ann')
end
refused('a short password', Gitlab::Error::BadRequest, "'password' is too short (minimum is 8 characters)") do
  root.create_user('cy@example.com', 'x7!qZ', 'cy', name: 'Cy')
end
refused('nobody', Gitlab::Error::NotFound, '404 User Not Found') { root.user(1 << 40) }

step 'lists'
5.times { |i| root.create_user("lister-#{i}@example.com", PASSWORD, "lister-#{i}", name: "Lister #{i}", skip_confirmation: true) }
listers = (0..4).map { |i| "lister-#{i}" }
equal 'by username', root.users(username: 'ANN').map(&:username), ['ann']
equal 'external', root.users(external: true).map(&:username), ['bob']
equal 'by search', root.user_search('lister-', order_by: 'id', sort: 'asc').map(&:username), listers
pages = root.users(search: 'lister-', order_by: 'id', sort: 'asc', per_page: 2)
equal 'first page', pages.map(&:username), listers.first(2)
equal 'last page', pages.last_page.map(&:username), listers.last(1)
equal 'next page and back', pages.next_page.prev_page.map(&:username), listers.first(2)
equal 'all pages', pages.auto_paginate.map(&:username), listers
walk = root.users(search: 'lister-', pagination: 'keyset', order_by: 'id', sort: 'asc', per_page: 2)
equal 'keyset', walk.auto_paginate.map(&:username), listers
refused('an unknown order', Gitlab::Error::BadRequest, 'order_by does not have a valid value') { root.users(order_by: 'bio') }

step 'states'
equal 'block', root.block_user(ann.id), true
equal 'block again', root.block_user(ann.id), false
equal 'blocked', root.user(ann.id).state, 'blocked'
equal 'unblock', root.unblock_user(ann.id), true
equal 'unblock again', root.unblock_user(ann.id), false
refused('block oneself', Gitlab::Error::Forbidden, '403 Forbidden - The API initiating user cannot be blocked by the API') do
  root.block_user(root.user.id)
end

step 'sudo'
as_ann = client(ENV.fetch('TOUR_TOKEN'), sudo: 'ann')
equal 'sudo', as_ann.user.username, 'ann'
refused('sudo without rank', Gitlab::Error::Forbidden, '403 Forbidden') { as_ann.edit_user(bob.id, name: 'Rob') }
root = client(ENV.fetch('TOUR_TOKEN')) # sudo is kept in the class of the client
equal 'no sudo', root.user.username, 'root'

step 'addresses'
own = root.add_email('root2@example.com')
equal 'one address', root.email(own.id).email, 'root2@example.com'
given = root.add_email('ann2@example.com', ann.id, true)
equal 'own addresses', root.emails.map(&:email), ['root2@example.com']
equal 'addresses', root.emails(ann.id).map(&:email), ['ann2@example.com']
root.delete_email(own.id)
root.delete_email(given.id, ann.id)
equal 'no addresses', root.emails.map(&:email), []
refused('an address that is gone', Gitlab::Error::NotFound, '404 Email Not Found') { root.email(own.id) }

step 'SSH keys'
own = root.create_ssh_key('laptop', SSH_KEYS[0])
given = root.create_ssh_key('desk', SSH_KEYS[1], user_id: ann.id)
equal 'one key', root.ssh_key(own.id).title, 'laptop'
equal 'own keys', root.ssh_keys.map(&:title), ['laptop']
equal 'keys', root.ssh_keys(user_id: ann.id).map(&:title), ['desk']
equal 'key with its user', root.key(given.id).user.username, 'ann'
refused('a key twice', Gitlab::Error::BadRequest, "'fingerprint_sha256' has already been taken") { root.create_ssh_key('again', SSH_KEYS[0]) }
root.delete_ssh_key(own.id)
root.delete_ssh_key(given.id, user_id: ann.id)
equal 'no keys', root.ssh_keys.map(&:title), []

step 'settings'
equal 'sign-up', root.application_settings.signup_enabled, true
equal 'no sign-up', root.edit_application_settings(signup_enabled: false).signup_enabled, false
root.edit_application_settings(signup_enabled: true)
refused('a lone switch', Gitlab::Error::BadRequest, 'two_factor_grace_period is missing') do
  root.edit_application_settings(require_two_factor_authentication: true)
end

step 'features'
equal 'on', root.set_feature('of_the_tour', true).state, 'on'
equal 'for one person', root.set_feature('of_one', true, user: 'root').state, 'conditional'
equal 'features', root.features.map(&:name).sort, %w[of_one of_the_tour]
root.delete_feature('of_the_tour')
root.delete_feature('of_one')
equal 'no features', root.features.map(&:name), []

step 'activities'
equal 'activities', root.activities(from: '2020-01-01').respond_to?(:map), true

step 'deletion'
root.delete_user(bob.id)
refused('bob', Gitlab::Error::NotFound, '404 User Not Found') { root.user(bob.id) }

step 'done'
