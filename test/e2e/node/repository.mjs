// @gitbeaker/rest on what is in a repository. The first difference ends the
// tour with a message and a status other than 0.

import { Gitlab } from '@gitbeaker/rest';
import { isDeepStrictEqual, inspect } from 'node:util';

const { TOUR_URL: host, TOUR_TOKEN: token } = process.env;

const api = new Gitlab({ host, token });

function step(text) {
  console.log(`node: ${text}`);
}

function equal(what, got, want) {
  if (isDeepStrictEqual(got, want)) return;
  console.error(`node: ${what}: got ${inspect(got)}, want ${inspect(want)}`);
  process.exit(1);
}

const names = (list) => list.map((one) => one.name).sort();

step('a project with a first commit');
const { id } = await api.Projects.create({ name: 'Tongs', initializeWithReadme: true });

step('commits and files');
const made = await api.Commits.create(id, 'main', 'Two files', [
  { action: 'create', filePath: 'a.txt', content: 'a\n' },
  { action: 'create', filePath: 'dir/b.txt', content: 'b\n' },
]);
equal('title', made.title, 'Two files');
equal('newest', (await api.Commits.all(id, { refName: 'main' }))[0].id, made.id);
equal('one', (await api.Commits.show(id, made.id)).stats, { additions: 2, deletions: 0, total: 2 });
equal('diff', (await api.Commits.showDiff(id, made.id)).map((d) => d.new_path), ['a.txt', 'dir/b.txt']);
await api.RepositoryFiles.create(id, 'c.txt', 'main', 'c\n', 'A third');
equal('file', atob((await api.RepositoryFiles.show(id, 'c.txt', 'main')).content), 'c\n');
await api.RepositoryFiles.edit(id, 'c.txt', 'main', 'cc\n', 'Changed');
equal('blame', (await api.RepositoryFiles.allFileBlames(id, 'c.txt', 'main'))[0].lines, ['cc']);
await api.RepositoryFiles.remove(id, 'c.txt', 'main', 'Gone');

step('tree');
equal('tree', (await api.Repositories.allRepositoryTrees(id)).map((e) => e.name), ['dir', 'README.md', 'a.txt']);
equal('all', (await api.Repositories.allRepositoryTrees(id, { recursive: true, pagination: 'keyset', perPage: 2 })).length, 4);

step('branches and tags');
await api.Branches.create(id, 'side', made.id);
equal('branches', names(await api.Branches.all(id)), ['main', 'side']);
await api.Tags.create(id, 'v1', 'main', { message: 'One' });
equal('tags', names(await api.Tags.all(id)), ['v1']);

step('compare, merge base, contributors');
equal('compare', (await api.Repositories.compare(id, 'side', 'main')).commits.map((c) => c.title), ['A third', 'Changed', 'Gone']);
equal('merge base', (await api.Repositories.mergeBase(id, ['side', 'main'])).id, made.id);
equal('contributors', (await api.Repositories.allContributors(id)).length, 1);

step('protection');
await api.ProtectedBranches.create(id, 'stable-*');
equal('protected', names(await api.ProtectedBranches.all(id)), ['main', 'stable-*']);

step('removal');
await api.Branches.remove(id, 'side');
await api.Tags.remove(id, 'v1');
equal('branches', names(await api.Branches.all(id)), ['main']);
step('done');
