import type { Tools } from '../harness/tools.ts';
import type { PartResult } from '../report/report.ts';
import { benchEntityGrowth } from './entity-growth.ts';
import { benchTableGrowth } from './table-growth.ts';

/** Whether a page costs the same no matter how many webhooks the table or the entity has. No response is cached. */
export async function benchGrowth(tools: Tools): Promise<PartResult> {
  const table = await benchTableGrowth(tools);
  const entity = await benchEntityGrowth(tools);
  return {
    rows: [...table.rows, ...entity.rows],
    charts: [...table.charts, ...entity.charts],
    raw: { ...table.raw, ...entity.raw },
  };
}
