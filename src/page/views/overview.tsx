import { ViewHead } from '../components/view-head.tsx';

export function Overview() {
  return <ViewHead title="Overview" />;
}
