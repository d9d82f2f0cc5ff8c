import { useState } from 'preact/hooks';
import { paybell } from '../../api.ts';
import { ActionButton } from '../../components/action-button.tsx';
import { Icon } from '../../components/icon.tsx';
import { Loaded } from '../../components/view/loaded.tsx';
import { ViewHead } from '../../components/view/view-head.tsx';
import { useObservable } from '../../observable.ts';
import { useResponse } from '../../use-response.ts';
import type { Chosen } from '../webhooks/dialogs/pairs.tsx';
import { RegisterDialog } from '../webhooks/dialogs/register-dialog.tsx';
import { webhooksRevision } from '../webhooks/revision.ts';
import { Grid, Legend } from './grid.tsx';

/** Which networks and events have webhooks. A gap is visible at a glance and filled with one click. */
export function Coverage() {
  const revision = useObservable(webhooksRevision);
  const response = useResponse(`coverage ${revision}`, (signal) => paybell().webhooks.coverage({ signal }));
  const [registering, setRegistering] = useState<Chosen | null>(null);
  return (
    <>
      <ViewHead
        title="Coverage"
        description="Webhooks for every network and event. An empty cell has no webhook: click it to register one."
      >
        <ActionButton
          needs="webhooks:write"
          class="button button-primary"
          onClick={() => setRegistering({ networkIds: [], events: [] })}
        >
          <Icon name="plus" />
          Register webhooks
        </ActionButton>
      </ViewHead>
      <Loaded response={response} what="coverage">
        {(coverage) => (
          <>
            <Legend coverage={coverage} />
            <Grid coverage={coverage} busy={response.loading} onRegister={setRegistering} />
          </>
        )}
      </Loaded>
      {registering === null ? null : (
        <RegisterDialog coverage={response.data} preset={registering} onClose={() => setRegistering(null)} />
      )}
    </>
  );
}
