import { ViewHead } from '../components/view-head.tsx';

export function Coverage() {
  return <ViewHead title="Coverage" />;
}
