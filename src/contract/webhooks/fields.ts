/** The fields of a webhook, in the order in which responses and files have them. */
export const WEBHOOK_FIELDS = ['webhookId', 'networkId', 'event', 'postUrl', 'dateCreated'] as const;
