import type { DailySpend } from '@gen3d/schema/dashboard';
import { usd } from '../format.js';

const height = 96;
const step = 20;
const barWidth = 12;

const modelCount = (jobs: number) => `${jobs} ${jobs === 1 ? 'model' : 'models'}`;

/** The cost of each day, or its number of models if no day cost anything. */
export function SpendChart({ days }: { days: readonly DailySpend[] }) {
  const spent = days.reduce((sum, day) => sum + day.spent_usd, 0);
  const jobs = days.reduce((sum, day) => sum + day.jobs, 0);
  const barValue = (day: DailySpend) => (spent > 0 ? day.spent_usd : day.jobs);
  const max = Math.max(...days.map(barValue), spent > 0 ? 0.0001 : 1);
  const total = `${usd(spent)} for ${modelCount(jobs)}`;
  return (
    <section>
      <h2>Last {days.length} days</h2>
      <p class="hint">
        {total}. Each bar shows {spent > 0 ? 'the cost of one day' : 'the number of models of one day'}.
      </p>
      <svg
        class="chart"
        role="img"
        aria-label={`${spent > 0 ? 'Spending' : 'Models'} by day: ${total} in ${days.length} days`}
        viewBox={`0 0 ${days.length * step} ${height}`}
        preserveAspectRatio="none"
      >
        {days.map((day, index) => {
          const barHeight = Math.max(2, (barValue(day) / max) * height);
          return (
            <rect
              key={day.date}
              class={barValue(day) === 0 ? 'none' : ''}
              x={index * step + (step - barWidth) / 2}
              y={height - barHeight}
              width={barWidth}
              height={barHeight}
            >
              <title>{`${day.date}: ${usd(day.spent_usd)}, ${modelCount(day.jobs)}`}</title>
            </rect>
          );
        })}
      </svg>
      <p class="row between hint" aria-hidden="true">
        <span>{days[0]?.date}</span>
        <span>today</span>
      </p>
    </section>
  );
}
