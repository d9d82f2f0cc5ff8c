import { live } from '../../live.ts';
import { useObservable } from '../../observable.ts';

/** Turns automatic updates on and off. `note` says why the current list is not updated even though the switch is on. */
export function LiveSwitch({ note = null }: { note?: string | null }) {
  const on = useObservable(live);
  const running = on && note === null;
  return (
    <button
      type="button"
      role="switch"
      aria-checked={on}
      class={running ? 'live live-on' : 'live'}
      title={on ? 'Updates automatically. Click to pause.' : 'Paused. Click to update automatically.'}
      onClick={() => live.set(!on)}
    >
      <span class="live-track" aria-hidden="true" />
      Live
      {on && note !== null ? <span class="muted"> · {note}</span> : null}
    </button>
  );
}
