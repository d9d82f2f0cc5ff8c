import { type Config, knownEvents } from '../../../config.ts';
import { notFollowed } from '../../../contract/chain/network-problems.ts';
import {
  type NewSource,
  newSourceSchema,
  type SourcePreviewRequest,
  type SourceUpdateRequest,
  sourcePreviewSchema,
  sourceRecentSchema,
  sourceUpdateSchema,
} from '../../../contract/chain/new-source.ts';
import type { SourceRules } from '../../../contract/chain/source-definition.ts';
import {
  sourceListQuerySchema,
  sourceListSchema,
  sourcePreviewResultSchema,
  sourceRecentEventsSchema,
  sourceSchema,
} from '../../../contract/chain/sources.ts';
import { Problem } from '../../../contract/problems.ts';
import { NATIVE_TOKEN } from '../../../domain/chain/coin.ts';
import { rulesOf } from '../../../domain/chain/families/families.ts';
import type { SourceDefinition } from '../../../domain/chain/source-definition.ts';
import { readSourcesToTry } from '../../../store/chain/sources/followed.ts';
import {
  createSource,
  deleteSource,
  listSources,
  type PreparedSource,
  readSource,
} from '../../../store/chain/sources/sources.ts';
import { readDefinition, type SourceUpdateResult, updateSource } from '../../../store/chain/sources/update.ts';
import { longReadsOf } from '../../../store/database/database.ts';
import type { ChainTools } from '../../chain-tools.ts';
import { type ApiContext, changeBy } from '../../context.ts';
import { ConcurrencyLimit } from '../../http/concurrency-limit.ts';
import { found, missing } from '../../http/found.ts';
import { cacheableJson, json, taggedResponses } from '../../http/responses.ts';
import { type Operation, operation } from '../../operation.ts';

/** Nodes answer few calls a second, and the followers of networks need most of them. */
const MAX_AT_ONCE = 2;
const CHANGE_RETRY_AFTER_S = 60;

/** Operations on sources: the logs of contracts that are events of the entity. */
export function sourceOperations(config: Config): Operation[] {
  const rules = { events: knownEvents(config) };
  const limit = new ConcurrencyLimit('requests that ask a network', MAX_AT_ONCE);
  return [create(rules, limit), preview(rules, limit), previewRecent(rules, limit), list, read, update(limit), remove];
}

function create(rules: SourceRules, limit: ConcurrencyLimit): Operation {
  return operation({
    method: 'post',
    path: '/sources',
    operationId: 'createSource',
    tag: 'Chain',
    summary: 'Create a source',
    description:
      'Reads the logs of a contract and makes events of those that match, from `fromBlock` on. A webhook gets each event ' +
      'once the transaction has the finality of its options. Events of blocks from before the source was created are stored ' +
      'as facts and delivered only with `deliverHistory`. The same definition again returns the source that exists.',
    permission: 'webhooks:write',
    body: newSourceSchema(rules),
    responses: {
      201: { description: 'Created', schema: sourceSchema },
      200: { description: 'A source with this definition exists', schema: sourceSchema },
    },
    problems: ['source_limit', 'network_not_followed', 'network_unavailable'],
    handle: async ({ context, caller, body }) => {
      const definition = definitionOf(body, body);
      const tools = toolsFor(context, definition.networkId);
      const prepared = await limit.run(caller.entityId, () => tools.prepareSource(definition));
      const { db, config } = context;
      const change = changeBy(context, caller);
      const most = config.ENTITY_SOURCE_LIMIT;
      const { source, isNew } = await createSource(db, caller.entityId, prepared, most, change, body.name ?? null);
      return json(isNew ? 201 : 200, source);
    },
  });
}

function preview(rules: SourceRules, limit: ConcurrencyLimit): Operation {
  return operation({
    method: 'post',
    path: '/sources/preview',
    operationId: 'previewSource',
    tag: 'Chain',
    summary: 'Preview the events of a transaction',
    description:
      'Says what a source that does not exist yet would make of a transaction, and why it would make nothing of its other ' +
      'logs. With `networkId` and `transactionHash` alone, it is what the sources of the entity make of it. Nothing is ' +
      'stored and nothing is sent.',
    permission: 'webhooks:write',
    body: sourcePreviewSchema(rules),
    responses: { 200: { description: 'Ok', schema: sourcePreviewResultSchema } },
    problems: ['transaction_not_found', 'transaction_pending', 'network_not_followed', 'network_unavailable'],
    handle: async ({ context, caller: { entityId }, body }) => {
      const { networkId, contract } = body;
      const parsed = rulesOf(networkId).transactionIds.parse(body.transactionHash);
      const transactionHash = 'value' in parsed ? parsed.value : body.transactionHash;
      const tools = toolsFor(context, networkId);
      const wanted =
        contract === undefined && body.preset !== 'native'
          ? await readSourcesToTry(longReadsOf(context.db, entityId), entityId, networkId)
          : definitionOf(body, { fromBlock: 0, deliverHistory: true });
      return json(200, await limit.run(entityId, () => tools.preview(networkId, wanted, transactionHash)));
    },
  });
}

function previewRecent(rules: SourceRules, limit: ConcurrencyLimit): Operation {
  return operation({
    method: 'post',
    path: '/sources/preview/recent',
    operationId: 'previewRecentEvents',
    tag: 'Chain',
    summary: 'Preview the newest events of a source',
    description:
      'Looks back from the newest block for the events that a source which does not exist yet would have led to. It asks a ' +
      'node for logs at most four times, so that it sees at most 22,000 blocks, and fewer if the node refuses such ' +
      'ranges. Nothing is stored and nothing is sent.',
    permission: 'webhooks:write',
    body: sourceRecentSchema(rules),
    responses: { 200: { description: 'Ok', schema: sourceRecentEventsSchema } },
    problems: ['network_not_followed', 'network_unavailable'],
    handle: async ({ context, caller: { entityId }, body }) => {
      const tools = toolsFor(context, body.networkId);
      const definition = definitionOf(body, { fromBlock: 0, deliverHistory: true });
      return json(200, await limit.run(entityId, () => tools.previewRecent(definition)));
    },
  });
}

const list = operation({
  method: 'get',
  path: '/sources',
  operationId: 'listSources',
  tag: 'Chain',
  summary: 'List sources',
  permission: 'webhooks:read',
  query: sourceListQuerySchema,
  responses: taggedResponses(sourceListSchema),
  handle: async ({ context, caller, request, query }) =>
    cacheableJson(request, await listSources(context.db, caller.entityId, query)),
});

const read = operation({
  method: 'get',
  path: '/sources/{sourceId}',
  operationId: 'readSource',
  tag: 'Chain',
  summary: 'Retrieve a source',
  permission: 'webhooks:read',
  responses: taggedResponses(sourceSchema),
  problems: ['not_found'],
  handle: async ({ context, caller, request, id }) =>
    cacheableJson(request, found(await readSource(context.db, caller.entityId, id), 'source')),
});

/** If two requests change one source at the same time, the later one starts from the result of the first. */
const MAX_ATTEMPTS = 3;

function update(limit: ConcurrencyLimit): Operation {
  return operation({
    method: 'patch',
    path: '/sources/{sourceId}',
    operationId: 'updateSource',
    tag: 'Chain',
    summary: 'Update a source',
    description:
      'Changes the fields that are given. `where`, `fields` and `minAmount` count from `appliesFromBlock` on, which is the next ' +
      'block; payments of earlier blocks keep the settings with which Paybell read them. No payment is lost or doubled. A source ' +
      'that is resumed continues at the block of the pause. The network, contract, preset, ABI and event cannot change.',
    permission: 'webhooks:write',
    body: sourceUpdateSchema,
    responses: { 200: { description: 'Ok', schema: sourceSchema } },
    problems: ['not_found', 'conflict', 'network_not_followed', 'network_unavailable', 'rate_limited'],
    handle: async ({ context, caller, id, body }) => {
      const { db } = context;
      const { name, isPaused } = body;
      for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
        const stored = found(await readDefinition(db, caller.entityId, id), 'source');
        const definition = changedDefinition(stored.definition, body);
        const prepared = definition === null ? undefined : await prepare(context, caller.entityId, limit, definition);
        const change = changeBy(context, caller);
        const wanted = { name, isPaused, prepared };
        const result = await updateSource(db, caller.entityId, id, stored.revision, wanted, change);
        if (result.kind === 'updated') return json(200, result.source);
        if (result.kind !== 'outdated') throw problemOf(result);
      }
      throw new Problem('conflict', 'Other requests change the source at the same time. Try again.');
    },
  });
}

/** Null if the changes leave the definition as it is. */
function changedDefinition(before: SourceDefinition, changes: SourceUpdateRequest): SourceDefinition | null {
  const { where, fields, minAmount } = changes;
  if (where === undefined && fields === undefined && minAmount === undefined) return null;
  const { minAmount: least, ...others } = before;
  const most = minAmount === undefined ? least : (minAmount ?? undefined);
  return {
    ...others,
    ...(where === undefined ? {} : { where: listsOf(where) }),
    ...(fields === undefined ? {} : { fields }),
    ...(most === undefined ? {} : { minAmount: most }),
  };
}

/** Checks the definition. The first block stays as it is, because it may be above the head of a node that is behind. */
async function prepare(
  context: ApiContext,
  entityId: string,
  limit: ConcurrencyLimit,
  definition: SourceDefinition,
): Promise<PreparedSource> {
  const tools = toolsFor(context, definition.networkId);
  const prepared = await limit.run(entityId, () => tools.prepareSource({ ...definition, fromBlock: 'latest' }));
  return { ...prepared, definition: { ...prepared.definition, fromBlock: definition.fromBlock } };
}

function problemOf(result: Exclude<SourceUpdateResult, { kind: 'updated' | 'outdated' }>): Problem {
  if (result.kind === 'absent') return missing('source');
  if (result.kind === 'exists') {
    return new Problem('conflict', `The source ${result.sourceId} has this definition already. Delete one of the two.`);
  }
  const remedy = result.isPaused ? 'Resume it first.' : `Try again once block ${result.finalAtBlock} is final.`;
  const detail = `The source has changed too often. ${remedy}`;
  return new Problem('rate_limited', detail, { headers: { 'retry-after': String(CHANGE_RETRY_AFTER_S) } });
}

const remove = operation({
  method: 'delete',
  path: '/sources/{sourceId}',
  operationId: 'deleteSource',
  tag: 'Chain',
  summary: 'Delete a source',
  description:
    'Paybell reads no more logs for the source. Facts that it has found stay, with their events and deliveries.',
  permission: 'webhooks:write',
  responses: { 204: { description: 'Deleted' } },
  problems: ['not_found'],
  handle: async ({ context, caller, id }) => {
    if (!(await deleteSource(context.db, caller.entityId, id, changeBy(context, caller)))) throw missing('source');
    return new Response(null, { status: 204 });
  },
});

function toolsFor({ chain }: ApiContext, networkId: number): ChainTools {
  if (chain === null) throw notFollowed(networkId);
  return chain;
}

type Asked = Pick<SourcePreviewRequest, 'networkId' | 'preset' | 'abi' | 'event' | 'where' | 'fields'> & {
  /** Absent for the coin of the network. */
  readonly contract?: string | undefined;
  readonly minAmount?: string | undefined;
  readonly addressBook?: string | undefined;
};

/** A single value of `where` is a list of one. */
function listsOf(where: NonNullable<SourceUpdateRequest['where']>): SourceDefinition['where'] {
  const lists = Object.entries(where).map(([name, value]) => [name, Array.isArray(value) ? value : [value]]);
  return Object.fromEntries(lists) as SourceDefinition['where'];
}

function definitionOf(
  { networkId, preset, contract, abi, event, where = {}, fields = {}, minAmount, addressBook }: Asked,
  { fromBlock, deliverHistory }: Pick<NewSource, 'fromBlock' | 'deliverHistory'>,
): SourceDefinition {
  return {
    networkId,
    preset: preset ?? null,
    contract: contract ?? NATIVE_TOKEN,
    abi: abi ?? null,
    event: event ?? null,
    where: listsOf(where),
    fields,
    fromBlock,
    deliverHistory,
    ...(minAmount === undefined ? {} : { minAmount }),
    ...(addressBook === undefined ? {} : { addressBook }),
  };
}
