import { live } from '../../live.ts';
import { useStore } from '../../observable.ts';

/** Says whether the view keeps itself up to date, and lets a person who wants to read in peace stop it. */
export function LiveSwitch({ note = null }: { note?: string | null }) {
  const on = useStore(live);
  const running = on && note === null;
  return (
    <button
      type="button"
      role="switch"
      aria-checked={on}
      class={running ? 'live live-on' : 'live'}
      title={note ?? (on ? 'Keeps itself up to date; press to stop it' : 'Stands still; press to keep it up to date')}
      onClick={() => live.set(!on)}
    >
      <span class="live-track" aria-hidden="true" />
      Live
      {on && note !== null ? <span class="muted"> · {note}</span> : null}
    </button>
  );
}
