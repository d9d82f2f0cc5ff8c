/** The event kinds of the alerts about an endpoint. */
export const FAILING_ALERT = 'endpoint.failing';
export const RECOVERED_ALERT = 'endpoint.recovered';

/** The event kind of the alert about a suspended webhook. */
export const SUSPENDED_NOTICE = 'webhook.suspended';
