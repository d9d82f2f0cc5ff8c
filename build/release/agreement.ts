/** What has to say the same before a release: the manifest, the lock file, the changelog and every page with a version. */
export type ReleaseTexts = {
  readonly version: string;
  readonly lockedVersions: readonly string[];
  readonly changelog: string;
  /** Each page by its path. */
  readonly pages: Readonly<Record<string, string>>;
  /** As an ISO date. */
  readonly today: string;
};

export const UNRELEASED = 'CHANGELOG.md has a section "Unreleased": give it the version and the date of the release';

const VERSION = /^\d+\.\d+\.\d+$/;
const HEADING = /^## (\d+\.\d+\.\d+) \((\d{4}-\d{2}-\d{2})\)$/;
/** As the name of a file, a package or an image has it. */
const NAMED_VERSION = /\b(?:paybell|paybell-client|@paybell\/client)[-@:](\d+\.\d+\.\d+)\b/gi;

/** Every disagreement as a sentence that says what to change; none if the release can be built. */
export function findDisagreements(texts: ReleaseTexts): string[] {
  const { version, lockedVersions, pages } = texts;
  if (!VERSION.test(version)) return [`package.json: "${version}" is not a version such as 1.2.3`];
  const locked = lockedVersions.filter((each) => each !== version);
  return [
    ...locked.map((each) => `package-lock.json has version ${each}, package.json ${version}: run npm install`),
    ...changelogDisagreements(texts),
    ...Object.entries(pages).flatMap(([page, text]) =>
      [...text.matchAll(NAMED_VERSION)]
        .filter(([, named]) => named !== version)
        .map(([words]) => `${page} names ${words}, and the version is ${version}`),
    ),
  ];
}

function changelogDisagreements({ version, changelog, today }: ReleaseTexts): string[] {
  const sections = changelog.split(/^(?=## )/m).slice(1);
  const headings = sections.map((section) => section.split('\n', 1)[0] ?? '');
  if (headings.includes('## Unreleased')) return [UNRELEASED];
  const malformed = headings.filter((heading) => !HEADING.test(heading));
  if (malformed.length > 0)
    return malformed.map((each) => `CHANGELOG.md: "${each}" is not of the form "## 1.2.3 (date)"`);
  const [, newest, date = ''] = HEADING.exec(headings[0] ?? '') ?? [];
  if (newest !== version) return [`CHANGELOG.md begins with ${newest ?? 'no version'}, and the version is ${version}`];
  return [
    ...(isDate(date) && date <= today ? [] : [`CHANGELOG.md: ${date} is not a day up to today (${today})`]),
    ...(/^- /m.test(sections[0] ?? '') ? [] : [`CHANGELOG.md says nothing about ${version}`]),
    ...(isDescending(headings) ? [] : ['CHANGELOG.md: the versions do not go down from one section to the next']),
  ];
}

function isDate(text: string): boolean {
  const date = new Date(`${text}T00:00:00Z`);
  return !Number.isNaN(date.getTime()) && date.toISOString().startsWith(text);
}

function isDescending(headings: readonly string[]): boolean {
  const versions = headings.map((heading) => HEADING.exec(heading)?.[1] ?? '');
  return versions.slice(1).every((version, index) => Bun.semver.order(versions[index] ?? '', version) > 0);
}
