import type { ComponentChildren } from 'preact';

type TileProps = { name: string; value: string; unit?: string; isBad?: boolean; children: ComponentChildren };

/** A figure with a note below it. */
export function Tile({ name, value, unit, isBad = false, children }: TileProps) {
  return (
    <div class={isBad ? 'card tile tile-bad' : 'card tile'}>
      <dt>{name}</dt>
      <dd>
        <span class="tile-value number">{value}</span> {unit === undefined ? null : <span class="muted">{unit}</span>}
        <span class="tile-note small number">{children}</span>
      </dd>
    </div>
  );
}
