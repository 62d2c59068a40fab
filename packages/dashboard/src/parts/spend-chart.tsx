import type { Day } from '../api.js';
import { usd } from '../words.js';

const height = 96;
const step = 20;
const barWidth = 12;

/** What each of the last days has cost, or where nothing costs anything how many models it made. */
export function SpendChart({ days }: { days: readonly Day[] }) {
  const spent = days.reduce((sum, day) => sum + day.spent_usd, 0);
  const jobs = days.reduce((sum, day) => sum + day.jobs, 0);
  const value = (day: Day) => (spent > 0 ? day.spent_usd : day.jobs);
  const most = Math.max(...days.map(value), spent > 0 ? 0.0001 : 1);
  const words = `${usd(spent)} for ${jobs} ${jobs === 1 ? 'model' : 'models'}`;
  return (
    <section>
      <h2>The last {days.length} days</h2>
      <p class="hint">
        {words}. A bar is {spent > 0 ? 'what its day has cost' : 'the number of models of its day'}.
      </p>
      <svg
        class="chart"
        role="img"
        aria-label={`${spent > 0 ? 'Spending' : 'Models'} by day: ${words} in ${days.length} days`}
        viewBox={`0 0 ${days.length * step} ${height}`}
        preserveAspectRatio="none"
      >
        {days.map((day, index) => {
          const bar = Math.max(2, (value(day) / most) * height);
          return (
            <rect
              key={day.date}
              class={value(day) === 0 ? 'none' : ''}
              x={index * step + (step - barWidth) / 2}
              y={height - bar}
              width={barWidth}
              height={bar}
            >
              <title>{`${day.date}: ${usd(day.spent_usd)}, ${day.jobs} ${day.jobs === 1 ? 'model' : 'models'}`}</title>
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
