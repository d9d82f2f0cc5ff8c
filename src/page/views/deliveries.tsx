import { ViewHead } from '../components/view-head.tsx';

export function Deliveries() {
  return <ViewHead title="Deliveries" />;
}
