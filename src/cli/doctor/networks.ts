import { blockAt, chainId, logsOf, taggedBlock } from '../../chain/evm/rpc/calls.ts';
import { loadFamily } from '../../chain/families.ts';
import type { Header } from '../../chain/follow/header.ts';
import { leastDepthIn } from '../../chain/least-depth.ts';
import { exchangeOf } from '../../chain/rpc/exchange-of.ts';
import { type FailureKind, RpcFailure } from '../../chain/rpc/failures.ts';
import { Node } from '../../chain/rpc/node.ts';
import type { Config } from '../../config.ts';
import { familyOf } from '../../domain/chain/families/families.ts';
import type { NetworkNodes } from '../../domain/chain/network-nodes.ts';
import { isMadeUp } from '../../domain/chain/practice.ts';
import { type Finding, failure, ok, warning } from './finding.ts';
import { checkSolanaNode } from './solana-node.ts';

/**
 * Checks the nodes in CHAIN_RPC: whether they respond, are on the right network, and offer the calls that the follower
 * needs.
 */

const RANGE_BLOCKS = 1_000;
const RANGE_TRIALS = 12;
/** An older head, or a head this far below another one, is read again after a while. */
const OLD_S = 60;
const FAR_BLOCKS = 2;
const SECOND_LOOK_MS = 3_000;
const NO_CONTRACT = `0x${'0'.repeat(40)}`;

const FIXES: Readonly<Record<FailureKind, string>> = {
  unreachable: 'Check that the node is running and that its URL in CHAIN_RPC is right.',
  timeout: 'The node took too long to respond. Check its load, or name another one.',
  http_status: 'The node answers with an error. Check its URL in CHAIN_RPC and the status page of its provider.',
  rate_limited: 'The node limits the rate of calls. Use a plan with at least 10 calls a second, or name a second node.',
  too_large: 'The response was too large. Name a node of this network.',
  garbage: 'The response is not JSON-RPC. Check the URL in CHAIN_RPC.',
  wrong_chain: 'The node is on another network. Correct the network id before its URL in CHAIN_RPC.',
  rpc_error: 'The node refused the call. Check that it offers the calls of its network, such as eth_getLogs.',
};

type Rules = {
  /** `CHAIN_FINALITY`: the depth that counts as final; null for none. */
  readonly depth: number | null;
  /** The least distance of a final block from the head. */
  readonly leastDepth: number;
};

export async function* checkNetworks(config: Config): AsyncGenerator<Finding> {
  for (const network of config.CHAIN_RPC) {
    const depth = config.CHAIN_FINALITY.find(({ networkId }) => networkId === network.networkId)?.depth ?? null;
    yield* checkNetwork(network, { depth, leastDepth: leastDepthIn(config, network.networkId) });
  }
}

type Found = { readonly node: Node; readonly head: Header; readonly final: Header | null };

async function* checkNetwork(network: NetworkNodes, rules: Rules): AsyncGenerator<Finding> {
  const found: Found[] = [];
  const family = await loadFamily(network.networkId);
  const { dialect } = family;
  for (const [index, url] of network.urls.entries()) {
    const name = `${network.networkId}#${index + 1}`;
    const node = new Node({
      ...{ name, dialect },
      identity: family.identity(network.networkId),
      exchange: exchangeOf(url, network.networkId, family),
    });
    try {
      yield familyOf(network.networkId) === 'solana'
        ? await checkSolanaNode(node)
        : await checkNode(node, network.networkId, rules, found);
    } catch (error) {
      if (!(error instanceof RpcFailure)) throw error;
      yield failure(`node ${name}`, error.message, fixOf(error));
    }
  }
  // Several nodes of Solana are not compared with each other.
  const isCompared = familyOf(network.networkId) !== 'solana';
  if (isCompared) yield await checkHeads(network, found);
  if (isCompared || network.urls.length === 1) yield await checkAgreement(network, found);
}

/** Statuses with which a provider rejects a key or an unknown URL. */
const KEY_STATUSES: readonly (number | null)[] = [401, 402, 403, 404];

function fixOf({ kind, status }: RpcFailure): string {
  return KEY_STATUSES.includes(status) ? 'The node rejects the request. Check the key in its URL.' : FIXES[kind];
}

async function checkNode(
  node: Node,
  networkId: number,
  { depth, leastDepth }: Rules,
  found: Found[],
): Promise<Finding> {
  const isTron = familyOf(networkId) === 'tron';
  const check = `node ${node.name}`;
  const [latest, finalized, safe] = [taggedBlock('latest'), taggedBlock('finalized'), taggedBlock('safe')] as const;
  const outcomes = await node.send([latest, finalized, ...(isTron ? [] : [safe])]);
  const head = outcomes.value(latest);
  if (head === null) return failure(check, 'it has no block', 'Wait until the node has read its network.');
  const tag = (call: typeof latest) => (outcomes.failure(call) === null ? outcomes.value(call) : null);
  const final = tag(finalized);
  const hasSafe = !isTron && tag(safe) !== null;
  const said = [final === null ? null : `final ${final.number}`, hasSafe ? 'safe' : null].filter(Boolean);
  const batches = await describeBatches(node);
  const text = [`head ${head.number}, ${ageS(head)} s old`, ...said, ...batches].join(', ');
  found.push({ node, head, final });
  if (final !== null && head.number - final.number < leastDepth && depth === null) {
    const distance = `It calls block ${final.number} final, ${head.number - final.number} below its head, and this network needs ${leastDepth}.`;
    const fix = `${distance} Paybell does not believe it. Name another node, or set CHAIN_MIN_DEPTH if the network is that fast.`;
    return warning(check, text, fix);
  }
  if (final === null && depth === null) {
    const trusted = isTron ? `CHAIN_FINALITY=${networkId}=27` : 'CHAIN_FINALITY to a depth that you trust';
    const fix = `It does not say what is final, so nothing becomes final. Set ${trusted}, or name another node.`;
    return warning(check, text, fix);
  }
  const blocks = await findRange(node, head.number);
  const shown = `${text}, ranges of ${blocks} blocks`;
  if (blocks >= Math.min(RANGE_BLOCKS, head.number)) return ok(check, shown);
  const fix = `It refuses eth_getLogs over ${RANGE_BLOCKS} blocks. Paybell asks for less, and reads history more slowly.`;
  return warning(check, shown, fix);
}

/** A node that takes this many calls in one request needs no remark. */
const BATCH_CALLS = 10;

async function describeBatches(node: Node): Promise<string[]> {
  await node.send(Array.from({ length: BATCH_CALLS }, chainId));
  if (node.batchSize >= BATCH_CALLS) return [];
  return [node.batchSize === 1 ? 'refuses batches: single calls' : `batches of at most ${node.batchSize} calls`];
}

/** Finds by trial how many blocks the node takes in one eth_getLogs, as the follower does. */
async function findRange(node: Node, head: number): Promise<number> {
  let most = 0;
  for (let trial = 0; trial < RANGE_TRIALS; trial++) {
    const blocks = node.logRange.cap(Math.min(RANGE_BLOCKS, Math.max(1, head)));
    if (blocks === most) break;
    if (await takesRange(node, head, blocks)) {
      node.logRange.noteSuccess(blocks, 0);
      most = Math.max(most, blocks);
    } else node.logRange.noteRefusal(blocks);
  }
  return most;
}

async function takesRange(node: Node, head: number, blocks: number): Promise<boolean> {
  const call = logsOf({ fromBlock: head - blocks + 1, toBlock: head, addresses: [NO_CONTRACT], topics: [] });
  try {
    return (await node.send([call])).failure(call) === null;
  } catch (error) {
    if (error instanceof RpcFailure) return false;
    throw error;
  }
}

function ageS({ timestampS }: Header): number {
  return Math.max(0, Math.floor(Date.now() / 1000 - timestampS));
}

/** Whether the node still has this head. True for a node that fails now, because it shows no newer head. */
async function isSame(node: Node, head: Header): Promise<boolean> {
  const call = taggedBlock('latest');
  try {
    return ((await node.send([call])).valueOrNull(call)?.hash ?? head.hash) === head.hash;
  } catch (error) {
    if (error instanceof RpcFailure) return true;
    throw error;
  }
}

/** Compares the heads of all nodes. If they are old, a second reading shows whether they move. */
async function checkHeads({ networkId }: NetworkNodes, found: readonly Found[]): Promise<Finding> {
  const check = `heads of network ${networkId}`;
  const [highest] = found.toSorted((a, b) => b.head.number - a.head.number);
  if (highest === undefined) return warning(check, 'no node has a head', 'Fix the nodes first.');
  const text = found.map(({ node, head }) => `${node.name} ${head.number}`).join(', ');
  const suspects = found.filter(({ head }) => highest.head.number - head.number >= FAR_BLOCKS || ageS(head) > OLD_S);
  if (suspects.length === 0) return ok(check, text);
  await Bun.sleep(SECOND_LOOK_MS);
  const frozen: string[] = [];
  for (const { node, head } of suspects) {
    if (await isSame(node, head)) frozen.push(node.name);
  }
  if (frozen.length === 0) {
    return warning(check, text, 'Some nodes are behind. Paybell follows the node with the newest block.');
  }
  const fix = `The newest block of ${frozen.join(', ')} is old and stays the same. Check that the node follows its network.`;
  return warning(check, text, fix);
}

/** Checks that a block which is final on one node is the same on every other node. */
async function checkAgreement({ networkId, urls }: NetworkNodes, found: readonly Found[]): Promise<Finding> {
  const check = `network ${networkId}`;
  if (isMadeUp({ urls })) {
    return warning(check, 'practice mode', 'Its payments are made up. Name nodes in CHAIN_RPC to read real ones.');
  }
  if (urls.length === 1) {
    const fix =
      'With one node, an invented or missing payment stays unnoticed. Name a second node of another operator in CHAIN_RPC, or better two.';
    return warning(check, 'one node', fix);
  }
  const speakers = found.flatMap(({ node, final }) => (final === null ? [] : [{ node, final }]));
  const [lowest] = speakers.toSorted((a, b) => a.final.number - b.final.number);
  if (lowest === undefined) return ok(check, `${urls.length} nodes, of which none says what is final`);
  for (const { node } of speakers) {
    const call = blockAt(lowest.final.number);
    const block = (await node.send([call])).value(call);
    if (block !== null && block.hash !== lowest.final.hash) {
      const difference = `node ${node.name} and node ${lowest.node.name} differ at final block ${lowest.final.number}`;
      return failure(check, difference, 'One of them is on another network or broken. Remove it from CHAIN_RPC.');
    }
  }
  return ok(check, `${urls.length} nodes agree on block ${lowest.final.number}`);
}
