import { useState } from 'preact/hooks';
import type { Webhook, WebhookListQuery } from '../../../client/webhooks.ts';
import { paybell } from '../../api.ts';
import { ActionButton } from '../../components/action-button.tsx';
import { Icon } from '../../components/icon.tsx';
import { List } from '../../components/lists/list.tsx';
import { useListState } from '../../components/lists/use-list.ts';
import { TransactionNotice } from '../../components/search/transaction-notice.tsx';
import { ViewHead } from '../../components/view/view-head.tsx';
import { useObservable } from '../../observable.ts';
import { useResponse } from '../../use-response.ts';
import { EditDialog } from './dialogs/edit-dialog.tsx';
import { OptionsDialog } from './dialogs/options-dialog.tsx';
import { RegisterDialog } from './dialogs/register-dialog.tsx';
import { NoWebhooks } from './empty.tsx';
import { WebhookFilters } from './filters.tsx';
import { webhooksRevision } from './revision.ts';
import { SuspendedBanner } from './suspended-banner.tsx';
import { WebhookTable } from './table.tsx';
import { useDetails } from './use-details.ts';

const FILTERS = ['webhookId', 'networkId', 'event'];

export function Webhooks() {
  const list = useListState(FILTERS);
  const revision = useObservable(webhooksRevision);
  const [registering, setRegistering] = useState(false);
  const [editing, setEditing] = useState<Webhook | null>(null);
  const [optionsOf, setOptionsOf] = useState<Webhook | null>(null);
  const response = useResponse(`${revision} ${JSON.stringify(list.parameters)}`, (signal) =>
    paybell().webhooks.list(list.parameters as WebhookListQuery, { signal }),
  );
  const coverage = useResponse(String(revision), (signal) => paybell().webhooks.coverage({ signal }));
  const details = useDetails(response.data?.webhooks ?? [], coverage.data, revision);
  const register = () => setRegistering(true);
  return (
    <>
      <ViewHead title="Webhooks" description="Each webhook sends one kind of event on one network to one URL.">
        <ActionButton needs="webhooks:write" class="button button-primary" onClick={register}>
          <Icon name="plus" />
          Register webhooks
        </ActionButton>
      </ViewHead>
      <SuspendedBanner coverage={coverage.data} />
      <WebhookFilters list={list} coverage={coverage.data} />
      <TransactionNotice text={list.filters.webhookId} />
      <List
        what="webhooks"
        state={list}
        response={response}
        rowsOf={({ webhooks }) => webhooks}
        none={<NoWebhooks register={register} />}
      >
        {(webhooks, busy) => (
          <WebhookTable {...{ webhooks, details, busy, list }} onEdit={setEditing} onOptions={setOptionsOf} />
        )}
      </List>
      {registering ? <RegisterDialog coverage={coverage.data} onClose={() => setRegistering(false)} /> : null}
      {editing === null ? null : <EditDialog webhook={editing} onClose={() => setEditing(null)} />}
      {optionsOf === null ? null : <OptionsDialog webhook={optionsOf} onClose={() => setOptionsOf(null)} />}
    </>
  );
}
