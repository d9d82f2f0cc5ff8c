import type { Config } from '../../config.ts';
import { attentionQuerySchema, type EntityAttention } from '../../contract/attention.ts';
import { showCount } from '../../domain/errors.ts';
import { listAttention } from '../../store/attention/read.ts';
import { readChains } from '../../store/chain/read/chains.ts';
import type { Database } from '../../store/database/database.ts';
import { nextCommand, troublesOf } from '../formats/attention.ts';
import { PAYBELL } from '../terminal/invocation.ts';
import { type Finding, failure, ok, warning } from './finding.ts';

/** Number of entities to name. The rest are counted. */
const MAX_NAMED = 5;

/** Failing, suspended and paused endpoints, overdue deliveries and paused sources, by entity. */
export async function checkEntities(db: Database): Promise<Finding[]> {
  const nowS = Math.floor(Date.now() / 1000);
  const query = attentionQuerySchema.parse({ limit: String(MAX_NAMED) });
  const { totalResults, needAttention, entities } = await listAttention(db, query, nowS);
  if (needAttention === 0) return [ok('entities', `none of ${totalResults} needs attention`)];
  const findings = entities.filter(({ level }) => level !== 'none').map((entity) => describe(entity, nowS));
  const others = needAttention - findings.length;
  if (others <= 0) return findings;
  const more = `${showCount(others, 'more entity needs', 'more entities need')} attention`;
  return [...findings, warning('entities', more, `List all of them: ${PAYBELL} attention --all`)];
}

function describe(entity: EntityAttention, nowS: number): Finding {
  const found = `${entity.name} (${entity.entityId}): ${troublesOf(entity, nowS).join(', ')}`;
  return warning('entities', found, `${PAYBELL} ${nextCommand(entity)} --entity ${entity.entityId}`);
}

/** The stored states of the networks in CHAIN_RPC. An error if Paybell has stopped reading a network. */
export async function checkFollowing(db: Database, { CHAIN_RPC }: Config): Promise<Finding[]> {
  const chains = await readChains(
    db,
    CHAIN_RPC.map(({ networkId }) => networkId),
  );
  return chains.map(({ networkId, name, state, reason, tip }) => {
    const check = `reading ${networkId}`;
    const found = `${name} is ${state}${reason === null ? '' : `: ${reason}`}`;
    if (state === 'following') return ok(check, `${name} is read up to block ${tip ?? 0}`);
    if (state === 'starting') return ok(check, `${name} was not read yet`);
    if (state !== 'halted') return warning(check, found, `Compare its nodes: ${PAYBELL} chain status`);
    const fix = `Check its nodes, then: ${PAYBELL} chain resume --network ${networkId} --from <block>`;
    return failure(check, found, fix);
  });
}
