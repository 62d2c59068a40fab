// The page of a shared model needs only the element.
import '@google/model-viewer';
