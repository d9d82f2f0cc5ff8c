import { MAX_NETWORK_ID } from '../networks.ts';
import { parseNodeUrl } from './node-url.ts';
import { isMadeUp, isPractice, PRACTICE, PRACTICE_NETWORK, PRACTICE_NODE, PRACTICE_TEST_NETWORKS } from './practice.ts';

/**
 * The nodes of one network, in the order in which they are preferred. Their URLs may contain keys, so Paybell never
 * shows them.
 */
export type NetworkNodes = { readonly networkId: number; readonly urls: readonly string[] };

/** The depth that the operator calls final, on a network that does not report a final block. */
export type FinalityDepth = { readonly networkId: number; readonly depth: number };

/** The number of nodes that must agree on the final block, if the operator fixes it. */
export type Quorum = { readonly networkId: number; readonly nodes: number };

const MAX_NODES = 100;
const MAX_FINALITY_DEPTH = 100_000;

/**
 * The nodes of a setting such as `8453=https://a,8453=https://b`, or a message about the mistake in it. A message never
 * shows a URL.
 */
export function parseNodes(setting: string): readonly NetworkNodes[] | string {
  const entries = setting.split(',').map((entry) => entry.trim());
  const practice = entries.flatMap((entry) => practiceNetworkOf(entry) ?? []);
  if (practice.length > 0) {
    const madeUp = new Set(practice);
    if (madeUp.size === entries.length) return practice.map((networkId) => ({ networkId, urls: [PRACTICE_NODE] }));
    return `must be ${PRACTICE} alone, because practice payments must not mix with real payments`;
  }
  if (entries.length > MAX_NODES) return `must have at most ${MAX_NODES} nodes`;
  const nodes = new Map<number, string[]>();
  for (const [index, entry] of entries.entries()) {
    const place = `entry ${index + 1}`;
    const networkId = idOf(entry);
    if (networkId === null) {
      return `must be ${PRACTICE}, or a comma-separated list such as 8453=https://node.example.com: ${place} does not begin with a network id and =`;
    }
    if (isPractice(networkId))
      return `must not name network ${networkId}: ${place} is the practice network, which has no nodes`;
    const text = entry.slice(entry.indexOf('=') + 1);
    const target = parseNodeUrl(text);
    if (target === null && text.includes('#')) {
      return `must have a header such as #Api-Key=value after a URL: the header in ${place}, for network ${networkId}, is not valid`;
    }
    if (target === null)
      return `must have http or https URLs: the URL in ${place}, for network ${networkId}, is not valid`;
    const url = target.header === null ? target.url.href : new URL(text).href;
    const urls = nodes.get(networkId) ?? [];
    if (urls.includes(url)) return `must have each node once: ${place} repeats one of network ${networkId}`;
    nodes.set(networkId, [...urls, url]);
  }
  return [...nodes].map(([id, urls]) => ({ networkId: id, urls }));
}

/** The network that an entry simulates: the practice network, or a test network such as `3448148188=practice`. */
function practiceNetworkOf(entry: string): number | null {
  if (entry === PRACTICE) return PRACTICE_NETWORK;
  return PRACTICE_TEST_NETWORKS.find((networkId) => entry === `${networkId}=${PRACTICE}`) ?? null;
}

/** The depths of a setting such as `61=50000,42220=20`, or a message about the mistake in it. */
export function parseDepths(text: string): readonly FinalityDepth[] | string {
  return depthsIn(text, { least: 1, sample: '61=50000' });
}

/** The least depths of a setting such as `1=32,43114=0`, or a message about the mistake in it. */
export function parseLeastDepths(text: string): readonly FinalityDepth[] | string {
  return depthsIn(text, { least: 0, sample: '1=32' });
}

function depthsIn(text: string, { least, sample }: { least: number; sample: string }) {
  const rule = `a network id, = and a number of blocks from ${least} to ${MAX_FINALITY_DEPTH}`;
  const values = numbersIn(text, sample, rule, (digits) => numberFrom(digits, least, MAX_FINALITY_DEPTH));
  return typeof values === 'string' ? values : [...values].map(([networkId, depth]) => ({ networkId, depth }));
}

/** The quorums of a setting such as `8453=2`, or a message about the mistake in it. */
export function parseQuorums(text: string): readonly Quorum[] | string {
  const rule = `a network id, = and a number of nodes from 1 to ${MAX_NODES}`;
  const values = numbersIn(text, '8453=2', rule, (digits) => numberFrom(digits, 1, MAX_NODES));
  return typeof values === 'string' ? values : [...values].map(([networkId, nodes]) => ({ networkId, nodes }));
}

/** The least time from one poll of a network to the next. */
export type PollPace = { readonly networkId: number; readonly pollMs: number };

const MIN_POLL_MS = 250;
const MAX_POLL_MS = 60_000;

/** The paces of a setting such as `900=4s,42161=500ms`, or a message about the mistake in it. */
export function parsePolls(text: string): readonly PollPace[] | string {
  const rule = `a network id, = and a time from ${MIN_POLL_MS}ms to ${MAX_POLL_MS / 1000}s`;
  const values = numbersIn(text, '900=4s', rule, (written) => {
    const [, digits, unit] = /^([0-9]{1,5})(ms|s)$/.exec(written) ?? [];
    const pollMs = digits === undefined ? 0 : Number(digits) * (unit === 's' ? 1_000 : 1);
    return pollMs >= MIN_POLL_MS && pollMs <= MAX_POLL_MS ? pollMs : null;
  });
  return typeof values === 'string' ? values : [...values].map(([networkId, pollMs]) => ({ networkId, pollMs }));
}

/** Whether each network has at least as many nodes as its quorum. */
export function hasQuorums(quorums: readonly Quorum[], networks: readonly NetworkNodes[]): boolean {
  const countOf = (id: number) => networks.find(({ networkId }) => networkId === id)?.urls.length ?? 0;
  return quorums.every(({ networkId, nodes }) => nodes <= countOf(networkId));
}

function numberFrom(digits: string, least: number, most: number): number | null {
  const number = /^[0-9]{1,6}$/.test(digits) ? Number(digits) : -1;
  return number >= least && number <= most ? number : null;
}

/** A value for each network of a list, or a message about the mistake in the list. */
function numbersIn(
  text: string,
  sample: string,
  rule: string,
  read: (text: string) => number | null,
): ReadonlyMap<number, number> | string {
  const values = new Map<number, number>();
  for (const [index, entry] of text.split(',').entries()) {
    const item = entry.trim();
    const networkId = idOf(item);
    const value = read(item.slice(item.indexOf('=') + 1));
    if (networkId === null || value === null) {
      return `must be a comma-separated list such as ${sample}: entry ${index + 1} is not ${rule}`;
    }
    if (values.has(networkId)) return `must have each network once: entry ${index + 1} repeats network ${networkId}`;
    values.set(networkId, value);
  }
  return values;
}

/** The form in which the log shows nodes: `8453 (2 nodes), 1 (1 node)`. */
export function describeNodes(networks: readonly NetworkNodes[]): string {
  return networks
    .map(({ networkId, urls }) =>
      isMadeUp({ urls })
        ? practiceEntry(networkId)
        : `${networkId} (${urls.length} ${urls.length === 1 ? 'node' : 'nodes'})`,
    )
    .join(', ');
}

function practiceEntry(networkId: number): string {
  return isPractice(networkId) ? PRACTICE : `${networkId}=${PRACTICE}`;
}

function idOf(entry: string): number | null {
  const digits = /^([0-9]{1,16})=/.exec(entry)?.[1];
  const id = digits === undefined ? Number.NaN : Number(digits);
  return id <= MAX_NETWORK_ID ? id : null;
}
