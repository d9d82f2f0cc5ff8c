import type { ChainNode } from '../../../client/chain/chains.ts';
import { type Column, DataTable, numberColumn } from '../../components/lists/data-table.tsx';
import { Badge } from '../../components/values/badge.tsx';
import { countText } from '../../components/values/count-text.ts';
import { Time } from '../../components/values/time.tsx';
import { ageText, NODE_ERRORS, NODE_STATES } from '../overview/network-words.ts';

const COLUMNS: readonly Column<ChainNode>[] = [
  { name: 'node', header: 'Node', width: 'rest', cell: ({ name }) => <code>{name}</code> },
  {
    name: 'state',
    header: 'State',
    width: '11rem',
    narrow: { below: 'medium', line: 'cell' },
    cell: (node) => <NodeState node={node} />,
  },
  numberColumn('head', 'Head', ({ head }) => countText(head), { width: '7rem' }),
  numberColumn('behind', 'Behind', ({ behindBlocks }) => countText(behindBlocks), {
    ...{ width: '5.5rem', below: 'medium' },
    line: ({ behindBlocks }) => behindText(behindBlocks),
  }),
  numberColumn('age', 'Age', ({ headAgeSeconds }) => ageText(headAgeSeconds), { width: '5.5rem', below: 'widest' }),
  numberColumn('finalized', 'Final', ({ finalized }) => countText(finalized), {
    ...{ width: '7rem', below: 'small' },
    line: ({ finalized }) => finalText(finalized),
  }),
  numberColumn('calls', 'Calls an hour', ({ callsLastHour }) => countText(callsLastHour), {
    ...{ width: '7.5rem', below: 'medium' },
    line: ({ callsLastHour }) => callsText(callsLastHour),
  }),
  {
    name: 'dateLastOk',
    header: 'Last response',
    width: '7.5rem',
    narrow: { below: 'wide' },
    cell: ({ dateLastOk }) => (dateLastOk === null ? <span class="muted">never</span> : <Time seconds={dateLastOk} />),
  },
];

/** The nodes side by side, so that people see which node differs. */
export function NodeTable({ nodes }: { nodes: readonly ChainNode[] }) {
  return <DataTable name="nodes" caption="Nodes" columns={COLUMNS} rows={nodes} keyOf={({ name }) => name} />;
}

function NodeState({ node: { state, lastError } }: { node: ChainNode }) {
  const isOk = state === 'ok';
  const error = lastError === null ? NODE_STATES.failing.words : (NODE_ERRORS[lastError] ?? lastError);
  // The next column shows how far a node is behind.
  const words = isOk || state === 'behind' ? null : state === 'failing' ? error : NODE_STATES[state].words;
  return (
    <>
      <Badge tone={isOk ? 'good' : 'warning'} icon={isOk ? 'check' : 'alert'} label={NODE_STATES[state].label} />{' '}
      {words === null ? null : <span class="small">{words}</span>}
    </>
  );
}

function behindText(blocks: number | null): string {
  return blocks === null || blocks === 0 ? '' : `${countText(blocks)} behind`;
}

function callsText(calls: number): string {
  return `${countText(calls)} calls in the last hour`;
}

function finalText(block: number | null): string {
  return block === null ? 'reports no final block' : `final ${countText(block)}`;
}
