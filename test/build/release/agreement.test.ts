import { describe, expect, test } from 'bun:test';
import { findDisagreements, type ReleaseTexts, UNRELEASED } from '../../../build/release/agreement.ts';
import { readReleaseTexts } from '../../../build/release/release-texts.ts';

const CHANGELOG =
  '# Changelog\n\n## 1.3.0 (2026-02-28)\n\n- Bells ring louder.\n\n## 1.2.9 (2026-01-31)\n\n- Bells ring.\n';
const AGREED: ReleaseTexts = {
  version: '1.3.0',
  lockedVersions: ['1.3.0', '1.3.0'],
  changelog: CHANGELOG,
  pages: { 'docs/deploy.md': 'Run paybell-1.3.0-linux-x64, or the image paybell:1.3.0, with Bun 1.4.4.' },
  today: '2026-03-01',
};
const changelog = (from: string, to: string) => ({ changelog: CHANGELOG.replace(from, to) });

describe('a release', () => {
  test('can be built where version, lock file, changelog and pages agree', () => {
    expect(findDisagreements(AGREED)).toEqual([]);
  });

  test.each<[string, Partial<ReleaseTexts>, string]>([
    ['a version that is not one', { version: '1.3' }, '"1.3" is not a version'],
    ['another version in the lock file', { lockedVersions: ['1.3.0', '1.2.9'] }, 'package-lock.json has version 1.2.9'],
    ['unreleased changes', changelog('## 1.3.0 (2026-02-28)', '## Unreleased'), UNRELEASED],
    ['a changelog that begins with another version', { version: '1.4.0', lockedVersions: [] }, 'begins with 1.3.0'],
    ['a heading without a date', changelog(' (2026-02-28)', ''), 'is not of the form'],
    ['a day that does not exist', changelog('2026-02-28', '2026-02-30'), '2026-02-30 is not a day'],
    ['a day to come', { today: '2026-02-27' }, '2026-02-28 is not a day up to today'],
    ['a section without an entry', changelog('- Bells ring louder.', ''), 'says nothing about 1.3.0'],
    ['versions that do not go down', changelog('1.2.9', '1.10.0'), 'do not go down'],
    [
      'a page of the version before',
      { pages: { 'a.md': 'npm i paybell-client-1.2.9.tgz' } },
      'a.md names paybell-client-1.2.9',
    ],
  ])('is refused for %s', (_what, changed, words) => {
    const found = findDisagreements({ ...AGREED, ...changed });
    expect(found.filter((each) => each.includes(words))).toHaveLength(1);
  });

  test('could be built from this checkout, but for changes that are not released yet', async () => {
    const texts = await readReleaseTexts('9999-12-31');
    expect(Object.keys(texts.pages)).toEqual(
      expect.arrayContaining(['README.md', 'docs/deploy.md', 'package/client/README.md']),
    );
    expect(findDisagreements(texts).filter((each) => each !== UNRELEASED)).toEqual([]);
  });
});
