import type { DailySpend } from '@gen3d/schema/dashboard';
import { seconds, usd } from '../format.js';

const height = 96;
const step = 20;
const barWidth = 12;

const modelCount = (jobs: number) => `${jobs} ${jobs === 1 ? 'model' : 'models'}`;

/** The cost of each day, or its number of models if the server charges nothing. */
export function DayChart({ days, charges }: { days: readonly DailySpend[]; charges: boolean }) {
  const barValue = (day: DailySpend) => (charges ? day.spent_usd : day.jobs);
  const label = (day: Pick<DailySpend, 'jobs' | 'spent_usd' | 'inference_seconds'>) =>
    `${modelCount(day.jobs)}, ${charges ? usd(day.spent_usd) : seconds(day.inference_seconds)}`;
  const total = label({
    jobs: days.reduce((sum, day) => sum + day.jobs, 0),
    spent_usd: days.reduce((sum, day) => sum + day.spent_usd, 0),
    inference_seconds: days.reduce((sum, day) => sum + day.inference_seconds, 0),
  });
  const maxDay = days.reduce((max, day) => (barValue(day) > barValue(max) ? day : max));
  const max = barValue(maxDay) || 1;
  return (
    <section>
      <h2>{charges ? 'Cost per day' : 'Models per day'}</h2>
      <svg
        class="chart"
        role="img"
        aria-label={`${charges ? 'Cost' : 'Models'} per day: ${total} in ${days.length} days`}
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
              <title>{`${day.date}: ${label(day)}`}</title>
            </rect>
          );
        })}
      </svg>
      <p class="row between hint">
        <span>{days[0]?.date}</span>
        {barValue(maxDay) > 0 && (
          <span>
            Highest bar: {maxDay.date}, {label(maxDay)}
          </span>
        )}
        <span>today</span>
      </p>
    </section>
  );
}
