import { ViewHead } from '../components/view-head.tsx';

export function Webhooks() {
  return <ViewHead title="Webhooks" />;
}
