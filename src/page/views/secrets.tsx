import { ViewHead } from '../components/view-head.tsx';

export function Secrets() {
  return <ViewHead title="Secrets" />;
}
