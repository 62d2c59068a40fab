import { useState } from 'preact/hooks';
import runningShoe from '../samples/running-shoe.webp';
import teapot from '../samples/teapot.webp';
import toyTruck from '../samples/toy-truck.webp';
import { Problem } from './feedback.js';

const samples = [
  { name: 'teapot', url: teapot },
  { name: 'running shoe', url: runningShoe },
  { name: 'toy truck', url: toyTruck },
];

/** Three photos to try. Calls `onChoose` with the one that is clicked. */
export function SamplePhotos({ onChoose }: { onChoose: (photo: File) => void }) {
  const [problem, setProblem] = useState<string>();
  const choose = async ({ name, url }: (typeof samples)[number]) => {
    try {
      const photo = await (await fetch(url)).blob();
      onChoose(new File([photo], `${name.replace(' ', '-')}.webp`, { type: 'image/webp' }));
    } catch {
      setProblem('The sample could not be loaded. Is the server running?');
    }
  };
  return (
    <section aria-labelledby="samples">
      <h2 id="samples">Or try a sample</h2>
      <ul class="samples">
        {samples.map((sample) => (
          <li key={sample.name}>
            <button type="button" aria-label={`Make a model of the ${sample.name}`} onClick={() => void choose(sample)}>
              <img src={sample.url} alt="" />
            </button>
          </li>
        ))}
      </ul>
      <Problem text={problem} />
    </section>
  );
}
