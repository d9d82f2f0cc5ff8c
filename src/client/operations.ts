export type Operation = {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly path: string;
  /** Under `/admin/v1`, with the operator's key. */
  readonly admin?: boolean;
  /** Each request makes one more: after a lost answer the caller has to look before it asks again. */
  readonly once?: boolean;
};

/** Every operation of the service, by the name that `/openapi.json` gives it; a test holds the two together. */
export const OPERATIONS = {
  listWebhooks: { method: 'GET', path: '/webhooks/classic' },
  registerWebhooks: { method: 'POST', path: '/webhooks/classic' },
  updateWebhooks: { method: 'PATCH', path: '/webhooks/classic' },
  deleteWebhooks: { method: 'DELETE', path: '/webhooks/classic' },
  readWebhook: { method: 'GET', path: '/webhooks/classic/{webhookId}' },
  updateWebhook: { method: 'PATCH', path: '/webhooks/classic/{webhookId}' },
  deleteWebhook: { method: 'DELETE', path: '/webhooks/classic/{webhookId}' },
  testWebhook: { method: 'POST', path: '/webhooks/classic/{webhookId}/test' },
  readWebhookHealth: { method: 'GET', path: '/webhooks/classic/{webhookId}/health' },
  resumeWebhook: { method: 'POST', path: '/webhooks/classic/{webhookId}/resume' },
  readCoverage: { method: 'GET', path: '/webhooks/coverage' },
  readNoticeUrl: { method: 'GET', path: '/webhooks/notice-url' },
  setNoticeUrl: { method: 'PUT', path: '/webhooks/notice-url' },
  listSecrets: { method: 'GET', path: '/webhooks/secret' },
  rotateSecret: { method: 'POST', path: '/webhooks/secret/rotate', once: true },
  sendEvent: { method: 'POST', path: '/events' },
  sendEvents: { method: 'POST', path: '/events/batch' },
  listEvents: { method: 'GET', path: '/events' },
  readEvent: { method: 'GET', path: '/events/{eventId}' },
  listDeliveries: { method: 'GET', path: '/deliveries' },
  readDelivery: { method: 'GET', path: '/deliveries/{deliveryId}' },
  // A post too many carries the same webhook-id, by which receivers know it again.
  redeliver: { method: 'POST', path: '/deliveries/{deliveryId}/redeliver' },
  redeliverMany: { method: 'POST', path: '/deliveries/redeliver', once: true },
  readRedelivery: { method: 'GET', path: '/redeliveries/{redeliveryId}' },
  readStats: { method: 'GET', path: '/stats' },
  listAudit: { method: 'GET', path: '/audit' },
  listEntities: { method: 'GET', path: '/entities', admin: true },
  createEntity: { method: 'POST', path: '/entities', admin: true, once: true },
  listApiKeys: { method: 'GET', path: '/keys', admin: true },
  createApiKey: { method: 'POST', path: '/keys', admin: true, once: true },
  revokeApiKey: { method: 'DELETE', path: '/keys/{keyId}', admin: true },
} as const satisfies Record<string, Operation>;
