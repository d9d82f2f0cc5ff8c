import { useRef, useState } from 'preact/hooks';
import type { Webhook, WebhookHealth } from '../../../client/webhooks.ts';
import type { Finality } from '../../../domain/chain/finality.ts';
import { asProblem, paybell } from '../../api.ts';
import { SortHead } from '../../components/lists/sort-head.tsx';
import { showToast } from '../../components/toasts.tsx';
import { useObservable } from '../../observable.ts';
import type { ById } from './fetch-each.ts';
import { pendingDeletions } from './pending-deletions.ts';
import { bumpWebhooksRevision } from './revision.ts';
import { WebhookRow } from './row.tsx';
import { TestResult, type TestState } from './test-result.tsx';
import type { WebhookState } from './use-states.ts';

type TableProps = {
  webhooks: readonly Webhook[];
  health: ById<WebhookHealth>;
  states: ById<WebhookState>;
  finality: ById<Finality>;
  busy: boolean;
  query: URLSearchParams;
  onEdit: (webhook: Webhook) => void;
  onOptions: (webhook: Webhook) => void;
};

export function WebhookTable({ webhooks, health, states, finality, busy, query, onEdit, onOptions }: TableProps) {
  const { tests, sendTest, dismiss } = useTests();
  const pending = useObservable(pendingDeletions);
  return (
    <div class="table-frame">
      <table class="table webhooks" aria-busy={busy}>
        <caption class="visually-hidden">Registered webhooks</caption>
        <thead>
          <tr>
            <SortHead field="postUrl" label="Endpoint URL" firstDir="asc" query={query} />
            <th scope="col" class="not-phone">
              Event
            </th>
            <th scope="col" class="not-phone">
              Network
            </th>
            <SortHead field="dateCreated" label="Created" firstDir="desc" query={query} class="not-phone" />
            <th scope="col">
              <span class="visually-hidden">Actions</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {webhooks.map((webhook) => {
            const test = tests.get(webhook.webhookId);
            return [
              <WebhookRow
                key={webhook.webhookId}
                webhook={webhook}
                health={health.get(webhook.webhookId) ?? null}
                state={states.get(webhook.webhookId) ?? null}
                finality={finality.get(webhook.webhookId) ?? null}
                deletion={pending.get(webhook.webhookId) ?? null}
                onEdit={() => onEdit(webhook)}
                onOptions={() => onOptions(webhook)}
                onTest={() => void sendTest(webhook.webhookId)}
                onResume={() => void resume(webhook.webhookId)}
              />,
              test === undefined ? null : (
                <TestResult
                  key={`${webhook.webhookId} test`}
                  test={test}
                  onDismiss={() => dismiss(webhook.webhookId)}
                />
              ),
            ];
          })}
        </tbody>
      </table>
    </div>
  );
}

/** The test events sent from this view, by webhook. */
function useTests() {
  const [tests, setTests] = useState<ReadonlyMap<string, TestState>>(new Map());
  const current = useRef(tests);
  const put = (webhookId: string, test: TestState | null) => {
    const next = new Map(current.current);
    if (test === null) next.delete(webhookId);
    else next.set(webhookId, test);
    current.current = next;
    setTests(next);
  };
  const sendTest = async (webhookId: string) => {
    put(webhookId, { state: 'sending' });
    try {
      put(webhookId, { state: 'sent', result: await paybell().webhooks.sendTest(webhookId) });
    } catch (error) {
      put(webhookId, { state: 'rejected', problem: asProblem(error) });
    }
  };
  return { tests, sendTest, dismiss: (webhookId: string) => put(webhookId, null) };
}

async function resume(webhookId: string): Promise<void> {
  try {
    await paybell().webhooks.resume(webhookId);
    showToast({ tone: 'good', text: 'Webhook resumed. Held deliveries are being sent.' });
    bumpWebhooksRevision();
  } catch (error) {
    showToast({ tone: 'bad', text: `Webhook not resumed. ${asProblem(error).detail}` });
  }
}
