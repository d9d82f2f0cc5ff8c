import { blockAt, chainId, logsOf, taggedBlock } from '../../chain/rpc/calls.ts';
import { type FailureKind, RpcFailure } from '../../chain/rpc/failures.ts';
import { httpExchange } from '../../chain/rpc/http-exchange.ts';
import { Node } from '../../chain/rpc/node.ts';
import type { Header } from '../../chain/rpc/types.ts';
import type { Config } from '../../config.ts';
import type { NetworkNodes } from '../../domain/chain/network-nodes.ts';
import { type Finding, failure, ok, warning } from './finding.ts';

/** The nodes of the networks in CHAIN_RPC: whether they respond, are on their network, and say what the follower needs. */

const RANGE_BLOCKS = 1_000;
const RANGE_TRIALS = 12;
const NO_CONTRACT = `0x${'0'.repeat(40)}`;

const FIXES: Readonly<Record<FailureKind, string>> = {
  unreachable: 'Check that the node is running and that its URL in CHAIN_RPC is right.',
  timeout: 'The node took too long to respond. Check its load, or name another one.',
  http_status: 'The node answers with an error. Check its URL in CHAIN_RPC and the status page of its provider.',
  rate_limited: 'The node limits the rate of calls. Use a plan with at least 10 calls a second, or name a second node.',
  too_large: 'The response was too large. Name a node of this network.',
  garbage: 'What responds there is no JSON-RPC node. Check the URL in CHAIN_RPC.',
  wrong_chain: 'The node is on another network. Correct the network id before its URL in CHAIN_RPC.',
  rpc_error: 'The node refused the call. Check that it offers eth_getBlockByNumber and eth_getLogs.',
};

export async function* checkNetworks({ CHAIN_RPC, CHAIN_FINALITY }: Config): AsyncGenerator<Finding> {
  for (const network of CHAIN_RPC) {
    const depth = CHAIN_FINALITY.find(({ networkId }) => networkId === network.networkId)?.depth ?? null;
    yield* checkNetwork(network, depth);
  }
}

type Found = { readonly node: Node; readonly final: Header };

async function* checkNetwork(network: NetworkNodes, depth: number | null): AsyncGenerator<Finding> {
  const found: Found[] = [];
  for (const [index, url] of network.urls.entries()) {
    const name = `${network.networkId}#${index + 1}`;
    const node = new Node({ name, chainId: network.networkId, exchange: httpExchange({ url }) });
    try {
      yield await checkNode(node, depth, found);
    } catch (error) {
      if (!(error instanceof RpcFailure)) throw error;
      yield failure(`node ${name}`, error.message, fixOf(error));
    }
  }
  yield await checkAgreement(network, found);
}

/** Statuses by which a provider rejects a key, or says that there is nothing under the URL. */
const KEY_STATUSES: readonly (number | null)[] = [401, 402, 403, 404];

function fixOf({ kind, status }: RpcFailure): string {
  return KEY_STATUSES.includes(status) ? 'The node rejects the request. Check the key in its URL.' : FIXES[kind];
}

async function checkNode(node: Node, depth: number | null, found: Found[]): Promise<Finding> {
  const check = `node ${node.name}`;
  const [latest, finalized, safe] = [taggedBlock('latest'), taggedBlock('finalized'), taggedBlock('safe')] as const;
  const outcomes = await node.send([latest, finalized, safe]);
  const head = outcomes.value(latest);
  if (head === null) return failure(check, 'it has no block', 'Wait until the node has read its network.');
  const tag = (call: typeof latest) => (outcomes.failure(call) === null ? outcomes.value(call) : null);
  const final = tag(finalized);
  const said = [final === null ? null : `final ${final.number}`, tag(safe) === null ? null : 'safe'].filter(Boolean);
  const batches = await describeBatches(node);
  const text = [`head ${head.number}`, ...said, ...batches].join(', ');
  if (final !== null) found.push({ node, final });
  else if (depth === null) {
    const fix = `It does not say what is final, so nothing becomes final. Set CHAIN_FINALITY to a depth that you trust, or name another node.`;
    return warning(check, text, fix);
  }
  const blocks = await findRange(node, head.number);
  const shown = `${text}, ranges of ${blocks} blocks`;
  if (blocks >= Math.min(RANGE_BLOCKS, head.number)) return ok(check, shown);
  const fix = `It refuses eth_getLogs over ${RANGE_BLOCKS} blocks. Paybell asks for less, and reads history more slowly.`;
  return warning(check, shown, fix);
}

/** Nothing to say about a node that takes this many calls in one request. */
const BATCH_CALLS = 10;

async function describeBatches(node: Node): Promise<string[]> {
  await node.send(Array.from({ length: BATCH_CALLS }, chainId));
  if (node.batchSize >= BATCH_CALLS) return [];
  return [node.batchSize === 1 ? 'refuses batches: single calls' : `batches of at most ${node.batchSize} calls`];
}

/** The blocks of one eth_getLogs that the node takes, found by trial as the follower does. */
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

/** What is final on one node has to be on every other. */
async function checkAgreement({ networkId, urls }: NetworkNodes, found: readonly Found[]): Promise<Finding> {
  const check = `network ${networkId}`;
  if (urls.length === 1) {
    const fix = 'What one node leaves out stays unnoticed. Name a second node of another operator in CHAIN_RPC.';
    return warning(check, 'one node', fix);
  }
  const [lowest] = found.toSorted((a, b) => a.final.number - b.final.number);
  if (lowest === undefined) return ok(check, `${urls.length} nodes, of which none says what is final`);
  for (const { node } of found) {
    const call = blockAt(lowest.final.number);
    const block = (await node.send([call])).value(call);
    if (block !== null && block.hash !== lowest.final.hash) {
      const difference = `node ${node.name} and node ${lowest.node.name} differ at final block ${lowest.final.number}`;
      return failure(check, difference, 'One of them is on another network or broken. Remove it from CHAIN_RPC.');
    }
  }
  return ok(check, `${urls.length} nodes agree on block ${lowest.final.number}`);
}
