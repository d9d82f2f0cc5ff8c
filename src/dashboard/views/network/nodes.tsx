import type { ChainNode } from '../../../client/chain/chains.ts';
import { type Column, DataTable } from '../../components/lists/data-table.tsx';
import { Badge } from '../../components/values/badge.tsx';
import { countText } from '../../components/values/count-text.ts';
import { Time } from '../../components/values/time.tsx';
import { ageText, NODE_ERRORS, NODE_STATES } from '../overview/network-words.ts';

const COLUMNS: readonly Column<ChainNode>[] = [
  { name: 'node', header: 'Node', width: 'rest', cell: ({ name }) => <code>{name}</code> },
  {
    name: 'state',
    header: 'State',
    width: '16rem',
    narrow: { below: 'medium', line: 'cell' },
    cell: (node) => <NodeState node={node} />,
  },
  {
    name: 'head',
    header: 'Head',
    width: '9rem',
    align: 'end',
    cell: ({ head }) => countText(head),
  },
  {
    name: 'behind',
    header: 'Behind',
    width: '6rem',
    align: 'end',
    narrow: { below: 'medium', line: ({ behindBlocks }) => <span class="small">{behindText(behindBlocks)}</span> },
    cell: ({ behindBlocks }) => countText(behindBlocks),
  },
  {
    name: 'age',
    header: 'Age',
    width: '6rem',
    align: 'end',
    narrow: { below: 'small' },
    cell: ({ headAgeSeconds }) => ageText(headAgeSeconds),
  },
  {
    name: 'finalized',
    header: 'Final',
    width: '9rem',
    align: 'end',
    narrow: { below: 'small', line: ({ finalized }) => <span class="small">{finalText(finalized)}</span> },
    cell: ({ finalized }) => countText(finalized),
  },
  {
    name: 'calls',
    header: 'Calls an hour',
    width: '8rem',
    align: 'end',
    narrow: { below: 'medium', line: ({ callsLastHour }) => <span class="small">{callsText(callsLastHour)}</span> },
    cell: ({ callsLastHour }) => countText(callsLastHour),
  },
  {
    name: 'dateLastOk',
    header: 'Last response',
    width: '8rem',
    narrow: { below: 'wide' },
    cell: ({ dateLastOk }) => (dateLastOk === null ? <span class="muted">never</span> : <Time seconds={dateLastOk} />),
  },
];

/** The nodes side by side, because the one that differs is the one to look at. */
export function NodeTable({ nodes }: { nodes: readonly ChainNode[] }) {
  return <DataTable name="nodes" caption="Nodes" columns={COLUMNS} rows={nodes} keyOf={({ name }) => name} />;
}

function NodeState({ node: { state, lastError } }: { node: ChainNode }) {
  const isOk = state === 'ok';
  const error = lastError === null ? NODE_STATES.failing.words : (NODE_ERRORS[lastError] ?? lastError);
  // The column next to it says how far a node is behind.
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
  return block === null ? 'says nothing about finality' : `final ${countText(block)}`;
}
