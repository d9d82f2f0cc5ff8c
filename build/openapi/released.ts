import { readdirSync } from 'node:fs';
import { basename, join } from 'node:path';
import { describeApi } from '../../src/api/routes.ts';
import { loadConfig } from '../../src/config.ts';
import { findBreakingChanges } from './breaking-changes.ts';
import { type Document, withoutTexts } from './document.ts';

/** The documents of all releases, without their texts. `npm run release` adds that of the version that it builds. */

const FOLDER = join(import.meta.dir, 'released');

/** Changes that break generated clients and were made on purpose, by the release that they are compared with. */
const ACCEPTED: Readonly<Record<string, readonly { readonly change: RegExp; readonly reason: string }[]>> = {
  '0.1.0': [
    {
      change: /^errors\.code: "\w+" is a new value$/,
      reason: 'New operations have new errors, and a client has to expect a code that it does not know.',
    },
    {
      change: /(^errors\.permission|\.permissions\[\]): "[a-z:]+" is a new value$/,
      reason: 'New operations have new permissions, which no key gets by itself.',
    },
    {
      change: /\.status: "superseded" is a new value$/,
      reason: 'No other state says that a later event made a delivery pointless before it was sent.',
    },
    {
      change:
        /^GET \S+\/deliveries\/\{deliveryId\}: 200\.attemptLog\[\]\.error: can be (?:string, and was null|null, and was string)$/,
      reason: 'Proxies, source addresses and client certificates fail in ways that no other error of an attempt names.',
    },
  ],
};

/** As every instance serves it that has the defaults and a key of an operator. */
export function currentDocument(): Promise<object> {
  return describeApi(loadConfig({ ADMIN_KEY: 'x'.repeat(32) }));
}

/** In ascending order. */
export function releasedVersions(): string[] {
  const names = readdirSync(FOLDER).filter((name) => name.endsWith('.json'));
  return names.map((name) => basename(name, '.json')).sort(Bun.semver.order);
}

export async function readReleased(version: string): Promise<Document> {
  return (await Bun.file(join(FOLDER, `${version}.json`)).json()) as Document;
}

export async function writeReleased(version: string, document: object): Promise<void> {
  await Bun.write(join(FOLDER, `${version}.json`), `${JSON.stringify(withoutTexts(document), null, 1)}\n`);
}

export type Comparison = { readonly breaking: string[]; readonly staleReasons: string[] };

/** The breaking changes since a release but for the accepted ones, and the reasons that accept nothing. */
export async function changesSince(version: string, document: object): Promise<Comparison> {
  const found = findBreakingChanges(await readReleased(version), withoutTexts(document));
  const accepted = ACCEPTED[version] ?? [];
  return {
    breaking: found.filter((each) => !accepted.some(({ change }) => change.test(each))),
    staleReasons: accepted.filter(({ change }) => !found.some((each) => change.test(each))).map(({ reason }) => reason),
  };
}
