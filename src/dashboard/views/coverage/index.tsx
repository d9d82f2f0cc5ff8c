import { useState } from 'preact/hooks';
import { paybell } from '../../api.ts';
import { ActionButton } from '../../components/action-button.tsx';
import { Icon } from '../../components/icon.tsx';
import { Failure, Loading } from '../../components/lists/states.tsx';
import { ViewHead } from '../../components/lists/view-head.tsx';
import { useStore } from '../../observable.ts';
import { useResponse } from '../../use-response.ts';
import { webhooksChanged } from '../webhooks/changed-signal.ts';
import type { Chosen } from '../webhooks/dialogs/pairs.tsx';
import { RegisterDialog } from '../webhooks/dialogs/register-dialog.tsx';
import { Grid, Legend } from './grid.tsx';

/** Which networks and events anybody listens to, so that a gap is seen at once and filled with a click. */
export function Coverage() {
  const change = useStore(webhooksChanged);
  const { data, problem, loading, again } = useResponse(`coverage ${change}`, (signal) =>
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
