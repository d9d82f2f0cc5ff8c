import { useRef, useState } from 'preact/hooks';
import type { Webhook } from '../../../client/types.ts';
import { type ApiProblem, asProblem, paybell } from '../../api.ts';
import { SortHead } from '../../components/lists/sort-head.tsx';
import { showToast } from '../../components/toasts.tsx';
import { useStore } from '../../observable.ts';
import { noteWebhooksChanged } from './changed-signal.ts';
import { deletions } from './deletions.ts';
import { WebhookRow } from './row.tsx';
import { type Tested, TestResult } from './test-result.tsx';
import type { HealthById } from './use-health.ts';

type TableProps = {
  webhooks: readonly Webhook[];
  health: HealthById;
  busy: boolean;
  query: URLSearchParams;
  onEdit: (webhook: Webhook) => void;
};

export function WebhookTable({ webhooks, health, busy, query, onEdit }: TableProps) {
  const { tested, sendTest, dismiss } = useTests();
  const pending = useStore(deletions);
  return (
    <div class="table-frame">
      <table class="table webhooks" aria-busy={busy}>
        <caption class="visually-hidden">Registered webhooks</caption>
        <thead>
          <tr>
            <SortHead field="postUrl" label="Posts to" first="asc" query={query} />
            <th scope="col" class="not-phone">
              Event
            </th>
            <th scope="col" class="not-phone">
              Network
            </th>
            <SortHead field="dateCreated" label="Created" first="desc" query={query} class="not-phone" />
            <th scope="col">
              <span class="visually-hidden">What can be done</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {webhooks.map((webhook) => {
            const result = tested.get(webhook.webhookId);
            return [
              <WebhookRow
                key={webhook.webhookId}
                webhook={webhook}
                health={health.get(webhook.webhookId) ?? null}
                deletion={pending.get(webhook.webhookId) ?? null}
                onEdit={() => onEdit(webhook)}
                onTest={() => void sendTest(webhook.webhookId)}
                onResume={() => void resume(webhook.webhookId)}
              />,
              result === undefined ? null : (
                <TestResult
                  key={`${webhook.webhookId} test`}
                  tested={result}
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

/** What came of the tests that were sent from this view, by webhook. */
function useTests() {
  const [tested, setTested] = useState<ReadonlyMap<string, Tested>>(new Map());
  const current = useRef(tested);
  const put = (webhookId: string, result: Tested | null) => {
    const next = new Map(current.current);
    if (result === null) next.delete(webhookId);
    else next.set(webhookId, result);
    current.current = next;
    setTested(next);
  };
  const sendTest = async (webhookId: string) => {
    put(webhookId, { state: 'sending' });
    try {
      put(webhookId, { state: 'answered', answer: await paybell().webhooks.sendTest(webhookId) });
    } catch (error) {
      put(webhookId, { state: 'refused', problem: asProblem(error) });
    }
  };
  return { tested, sendTest, dismiss: (webhookId: string) => put(webhookId, null) };
}

async function resume(webhookId: string): Promise<void> {
  try {
    await paybell().webhooks.resume(webhookId);
    showToast({ tone: 'good', text: 'Back in service. What was held for it is sent now.' });
    noteWebhooksChanged();
  } catch (error) {
    const problem: ApiProblem = asProblem(error);
    showToast({ tone: 'bad', text: problem.detail });
  }
}
