import { paybell } from '../../api.ts';
import { runAction } from '../../components/run-action.ts';
import { bumpWebhooksRevision } from './revision.ts';

/** Resumes a suspended webhook, and shows the result. */
export async function resumeWebhook(webhookId: string): Promise<void> {
  const run = () => paybell().webhooks.resume(webhookId);
  const done = 'Webhook resumed. Held deliveries are being sent.';
  if (await runAction(run, done, 'Webhook not resumed.')) bumpWebhooksRevision();
}
