import type { Coverage } from '../../../client/webhooks.ts';
import { networkName } from '../../../domain/networks.ts';
import { Icon } from '../../components/icon.tsx';
import { Breakable } from '../../components/values/breakable.tsx';
import type { Chosen } from '../webhooks/dialogs/pairs.tsx';
import { CELL_KINDS, Cell, type CellKind, kindOf } from './cell.tsx';

type GridProps = { coverage: Coverage; busy: boolean; onRegister: (chosen: Chosen) => void };

export function Grid({ coverage, busy, onRegister }: GridProps) {
  const events = coverage.networks[0]?.events.map(({ event }) => event) ?? [];
  return (
    <div class="table-frame">
      <table class="table coverage" aria-busy={busy}>
        <caption class="visually-hidden">Webhooks for each network and event</caption>
        <thead>
          <tr>
            <th scope="col">Network</th>
            {events.map((event) => (
              <th key={event} scope="col">
                <span class="event-name">
                  <Breakable event={event} />
                </span>
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {coverage.networks.map(({ networkId, events: cells }) => (
            <tr key={networkId}>
              <th scope="row">
                <span class="cut">{networkName(networkId)}</span>
                <span class="muted number small">{networkId}</span>
              </th>
              {cells.map((cell) => (
                <td key={cell.event}>
                  <Cell
                    networkId={networkId}
                    {...cell}
                    onRegister={() => onRegister({ networkIds: [networkId], events: [cell.event] })}
                  />
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

const KINDS = Object.keys(CELL_KINDS) as CellKind[];

/** The kinds of cells with their counts. */
export function Legend({ coverage }: { coverage: Coverage }) {
  const cells = coverage.networks.flatMap(({ events }) => events);
  const count = (kind: CellKind) => cells.filter((cell) => kindOf(cell) === kind).length;
  return (
    <ul class="legend">
      {KINDS.map((kind) => (
        <li key={kind}>
          <span class={`cell cell-${kind}`}>
            <Icon name={CELL_KINDS[kind].icon} size={14} />
          </span>
          <span>
            {CELL_KINDS[kind].label} <strong class="number">{count(kind)}</strong>
          </span>
        </li>
      ))}
    </ul>
  );
}
