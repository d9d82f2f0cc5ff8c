/** Line icons on a 16×16 grid in the colour of the text. They are decorative: the text next to them carries the meaning. */
const PATHS = {
  notification: 'M8 2.2a4 4 0 0 0-4 4v2.6L2.8 11.4h10.4L12 8.8V6.2a4 4 0 0 0-4-4ZM6.6 13.6a1.6 1.6 0 0 0 2.8 0',
  overview: 'M2.5 12.5 6 8l2.6 2.6 4.9-6.1M10 4.5h3.5V8',
  payments:
    'M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12ZM10 5.8c-.4-.7-1.1-1-2-1-1.1 0-2 .6-2 1.6s.9 1.4 2 1.6 2 .6 2 1.6-.9 1.6-2 1.6c-.9 0-1.6-.3-2-1M8 3.6v1.2M8 11.2v1.2',
  invoices: 'M3.5 14V2.2h9V14l-2.2-1.4L8 14l-2.3-1.4zM6 5.4h4M6 8.2h4',
  webhooks: 'M6.7 9.3 9.3 6.7M7.4 4.6l1.5-1.5a2.8 2.8 0 0 1 4 4l-1.5 1.5M8.6 11.4l-1.5 1.5a2.8 2.8 0 0 1-4-4l1.5-1.5',
  endpoints:
    'M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12ZM2 8h12M8 2c1.8 1.7 2.6 3.7 2.6 6S9.8 12.3 8 14C6.2 12.3 5.4 10.3 5.4 8S6.2 3.7 8 2',
  coverage: 'M2.5 2.5h4.4v4.4H2.5zM9.1 2.5h4.4v4.4H9.1zM2.5 9.1h4.4v4.4H2.5zM9.1 9.1h4.4v4.4H9.1z',
  events: 'M9 1.8 3.5 9h4L7 14.2 12.5 7h-4z',
  deliveries: 'M14 2.2 7.2 9M14 2.2 9.8 14 7.2 9 2 6.4z',
  networks:
    'M8 5.2a1.8 1.8 0 1 0 0-3.6 1.8 1.8 0 0 0 0 3.6ZM3.6 13.9a1.8 1.8 0 1 0 0-3.6 1.8 1.8 0 0 0 0 3.6ZM12.4 13.9a1.8 1.8 0 1 0 0-3.6 1.8 1.8 0 0 0 0 3.6ZM7.2 5l-2.8 5.4M8.8 5l2.8 5.4M5.4 12.1h5.2',
  secrets: 'M5.2 13.5a2.7 2.7 0 1 0 0-5.4 2.7 2.7 0 0 0 0 5.4ZM7.1 8.9l6.2-6.2M11.3 4.7l1.9 1.9M9.4 6.6l1.4 1.4',
  settings:
    'M2.5 4.5h5M11.5 4.5h2M2.5 11.5h2M8.5 11.5h5M9.5 6.5a2 2 0 1 0 0-4 2 2 0 0 0 0 4ZM6.5 13.5a2 2 0 1 0 0-4 2 2 0 0 0 0 4Z',
  docs: 'M4 2.5h6l3 3v8H4zM10 2.5v3h3M6.3 8.5h4M6.3 11h4',
  check: 'M3 8.6 6.4 12 13 4.6',
  double: 'M1.5 8.6 4.9 12l5-6.2M7.4 11.2l.8.8L14.5 4.6',
  cross: 'M4 4l8 8M12 4l-8 8',
  alert: 'M8 2 1.8 13.2h12.4zM8 6.4v3.2M8 11.4v.1',
  clock: 'M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12ZM8 4.8V8l2.2 1.6',
  pause: 'M5.5 3.5v9M10.5 3.5v9',
  play: 'M5 3.2v9.6L12.6 8z',
  retry: 'M13.3 8a5.3 5.3 0 1 1-1.6-3.8L13.4 6M13.4 2.6V6H10',
  copy: 'M5.5 5.5h8v8h-8zM3.2 10.5h-.7v-8h8v.7',
  trash: 'M2.8 4.5h10.4M6.2 4.3V2.6h3.6v1.7M4.2 4.5l.6 9h6.4l.6-9M6.7 7v4M9.3 7v4',
  edit: 'M3 13l.6-2.8L10.9 3l2.1 2.1-7.2 7.3zM9.5 4.4l2.1 2.1',
  plus: 'M8 3v10M3 8h10',
  minus: 'M3.5 8h9',
  left: 'M10 3.5 5.5 8l4.5 4.5',
  right: 'M6 3.5 10.5 8 6 12.5',
  first: 'M12 3.5 7.5 8l4.5 4.5M4 3.5v9',
  last: 'M4 3.5 8.5 8 4 12.5M12 3.5v9',
  up: 'M8 13V3.4M4 7.2 8 3.2l4 4',
  down: 'M8 3v9.6M4 8.8l4 4 4-4',
  leave: 'M6.5 2.5h-4v11h4M10 5l3 3-3 3M13 8H6',
  search: 'M7 11.5a4.5 4.5 0 1 0 0-9 4.5 4.5 0 0 0 0 9ZM10.3 10.3 14 14',
  filter: 'M2.5 3.2h11L9.5 8.4v4.4l-3-1.6V8.4z',
  lock: 'M3.5 7.5h9v6h-9zM5.2 7.5V5a2.8 2.8 0 0 1 5.6 0v2.5',
  undo: 'M3 6.2h6.6a3.7 3.7 0 0 1 0 7.4H6M5.8 3.2 2.8 6.2l3 3',
  info: 'M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12ZM8 7.4v3.4M8 5.2v.1',
  more: 'M3.2 7h1v2h-1zM7.5 7h1v2h-1zM11.8 7h1v2h-1z',
  dot: 'M8 9.2a1.2 1.2 0 1 0 0-2.4 1.2 1.2 0 0 0 0 2.4Z',
} as const;

export type IconName = keyof typeof PATHS;

export function Icon({ name, size = 16 }: { name: IconName; size?: number }) {
  return (
    <svg class="icon" width={size} height={size} viewBox="0 0 16 16" aria-hidden="true" focusable="false">
      <path d={PATHS[name]} />
    </svg>
  );
}

/** The product's logo, the same as the favicon. */
export function LogoMark({ size = 24 }: { size?: number }) {
  return (
    <svg class="logo" width={size} height={size} viewBox="0 0 32 32" aria-hidden="true" focusable="false">
      <rect class="logo-background" width="32" height="32" rx="8" />
      <path
        class="logo-foreground"
        d="M16 6.5a6.6 6.6 0 0 0-6.6 6.6v4.2l-2 3.6a.9.9 0 0 0 .8 1.3h15.6a.9.9 0 0 0 .8-1.3l-2-3.6v-4.2A6.6 6.6 0 0 0 16 6.5Z"
      />
      <path class="logo-foreground" d="M13.3 24a2.8 2.8 0 0 0 5.4 0z" />
    </svg>
  );
}
