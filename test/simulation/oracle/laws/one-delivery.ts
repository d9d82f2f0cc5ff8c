import type { Law } from '../law.ts';

/** A held event has one round for each time that its payment was in the chain. */
export const oneDelivery: Law = {
  id: 'L1',
  says: 'An event has at most one delivery for each webhook and round.',
  check: (evidence, verdict) => {
    const rounds = new Map(
      evidence.model.payments.flatMap((payment) => {
        const { heldEventId } = payment;
        const revisions = evidence.factsOf(payment).map(({ revision }) => revision);
        return heldEventId === null ? [] : [[heldEventId, Math.max(1, ...revisions)] as const];
      }),
    );
    const byPair = Map.groupBy(
      evidence.findings.view.deliveries.filter(({ webhookId, eventId }) => webhookId !== null && eventId !== ''),
      ({ eventId, webhookId }) => `${eventId} ${webhookId}`,
    );
    for (const deliveries of byPair.values()) {
      const { eventId = '', webhookId } = deliveries[0] ?? {};
      // Retention had removed it before it was sent again: it counts as never accepted.
      if (evidence.findings.view.removedEvents.has(eventId)) continue;
      const most = rounds.get(eventId) ?? 1;
      verdict.require(
        deliveries.length <= most,
        () => `${eventId} has ${deliveries.length} deliveries to ${nameOf(evidence, webhookId)}, instead of ${most}`,
      );
    }
  },
};

function nameOf({ model }: Parameters<Law['check']>[0], webhookId: string | null | undefined): string {
  return model.webhooks.find((webhook) => webhook.webhookId === webhookId)?.name ?? String(webhookId);
}
