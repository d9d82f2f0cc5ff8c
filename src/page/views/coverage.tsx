import { useState } from 'preact/hooks';
import { paybell } from '../api.ts';
import { ActionButton } from '../components/action-button.tsx';
import { Icon } from '../components/icon.tsx';
import { Failure, Loading } from '../components/states.tsx';
import { ViewHead } from '../components/view-head.tsx';
import { useStore } from '../store.ts';
import { useAnswer } from '../use-answer.ts';
import { Grid, Legend } from './coverage/grid.tsx';
import type { Chosen } from './webhooks/pairs.tsx';
import { RegisterDialog } from './webhooks/register-dialog.tsx';
import { webhooksChanged } from './webhooks/webhooks-changed.ts';

/** Which networks and events anybody listens to, so that a gap is seen at once and filled with a click. */
export function Coverage() {
  const change = useStore(webhooksChanged);
  const { data, problem, loading, again } = useAnswer(`coverage ${change}`, (signal) =>
    paybell().webhooks.coverage({ signal }),
  );
  const [registering, setRegistering] = useState<Chosen | null>(null);
  return (
    <>
      <ViewHead title="Coverage" about="Every network with every event. An empty cell is something nobody is told.">
        <ActionButton
          needs="webhooks:write"
          class="button button-primary"
          onClick={() => setRegistering({ networkIds: [], events: [] })}
        >
          <Icon name="plus" />
          Register
        </ActionButton>
      </ViewHead>
      {data === null && problem !== null ? <Failure problem={problem} again={again} /> : null}
      {data === null && problem === null ? <Loading what="coverage" /> : null}
      {data === null ? null : (
        <>
          <Legend coverage={data} />
          <Grid coverage={data} busy={loading} onRegister={setRegistering} />
        </>
      )}
      {registering === null ? null : (
        <RegisterDialog coverage={data} preset={registering} onClose={() => setRegistering(null)} />
      )}
    </>
  );
}
